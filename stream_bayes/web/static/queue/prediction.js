// @ts-check
// A prediction as small bars: the interval of a probability or mean, the parts of the variance.

import { h, s } from "../core/dom.js";
import { figure, hue, percent, probability } from "../core/format.js";

/** @typedef {{probabilities?: Record<string, number> | null, mean?: number | null, interval?: [number, number] | null, interval_of?: string | null}} Summary a prediction, or its summary in a label request */

/** The last label whose interval was shown. Summaries without an interval are shown for the same label. @type {string | null} */
let lastLabel = null;

/** The label that is shown for a prediction, with its probability. @param {Summary} prediction @returns {[string, number] | null} */
export function mainLabel(prediction) {
  lastLabel = prediction.interval_of ?? lastLabel;
  const all = Object.entries(prediction.probabilities ?? {});
  if (all.length === 0) return null;
  const wanted = [prediction.interval_of, lastLabel, "spam"].find((label) => label && label in (prediction.probabilities ?? {}));
  const named = all.find(([label]) => label === wanted);
  return named ?? all.reduce((best, one) => (one[1] > best[1] ? one : best));
}

/** A probability or a mean with its credible interval, as text and as a bar. @param {Summary} prediction */
export function renderInterval(prediction) {
  const about = mainLabel(prediction);
  const interval = prediction.interval ?? null;
  if (about !== null) {
    const [label, p] = about;
    return intervalBar(label, probability(p), p, interval, [0, 1], probability);
  }
  if (prediction.mean === null || prediction.mean === undefined) return h("p", { class: "soft" }, "There was no prediction.");
  const [low, high] = interval ?? [prediction.mean, prediction.mean];
  const room = (high - low) * 0.5 || Math.abs(prediction.mean) * 0.1 || 1;
  return intervalBar("mean", figure(prediction.mean), prediction.mean, interval, [low - room, high + room], figure);
}

/**
 * @param {string} name @param {string} value @param {number} at
 * @param {[number, number] | null} interval @param {[number, number]} range @param {(value: number) => string} format
 */
function intervalBar(name, value, at, interval, [from, to], format) {
  const place = (/** @type {number} */ x) => Math.min(100, Math.max(0, ((x - from) / (to - from)) * 100));
  const shapes = [s("rect", { class: "track", x: 0, y: "50%", width: "100%", height: 2, transform: "translate(0 -1)" })];
  if (interval !== null) {
    const [low, high] = interval.map(place);
    const box = { x: `${low}%`, width: `${Math.max(0.5, high - low)}%`, y: 5, height: 12, rx: 3 };
    shapes.push(s("rect", { class: "range", ...box }));
  }
  shapes.push(s("rect", { class: "point", x: `${place(at)}%`, y: 1, width: 4, height: 20, rx: 2, transform: "translate(-2 0)" }));
  const span = interval === null ? "" : `95 % between ${format(interval[0])} and ${format(interval[1])}`;
  const parts = [h("span", {}, name), " ", h("strong", {}, value), " ", h("span", { class: "soft" }, span)];
  const text = h("p", { class: "prediction-text" }, ...parts);
  const label = `${name} ${value}${span ? `, ${span}` : ""}`;
  const ends = h("div", { class: "ends", "aria-hidden": "true" }, h("span", {}, format(from)), h("span", {}, format(to)));
  const bar = s("svg", { class: "interval", role: "img", "aria-label": label, "data-hue": hue(name) }, ...shapes);
  return h("div", {}, text, bar, ends);
}

/**
 * The variance and its epistemic and aleatoric part.
 * @param {number | null | undefined} variance @param {number | null | undefined} epistemic
 */
export function renderVariance(variance, epistemic) {
  if (variance === null || variance === undefined) return null;
  if (epistemic === null || epistemic === undefined) return h("p", {}, "Variance ", h("strong", {}, figure(variance)));
  const aleatoric = Math.max(0, variance - epistemic);
  const share = variance > 0 ? Math.min(1, epistemic / variance) : 0;
  const split = `${share * 100}%`;
  const label = `variance ${figure(variance)}: epistemic ${figure(epistemic)}, noise ${figure(aleatoric)}`;
  const bar = s(
    "svg",
    { class: "variance-bar", role: "img", "aria-label": label },
    s("rect", { class: "aleatoric", x: 0, y: 0, width: "100%", height: "100%" }),
    s("rect", { class: "epistemic", x: 0, y: 0, width: split, height: "100%" }),
  );
  return h(
    "div",
    { class: "variance" },
    h("p", { class: "variance-text" }, "Variance ", h("strong", {}, figure(variance))),
    bar,
    h(
      "dl",
      { class: "variance-parts" },
      part("epistemic", "Epistemic", epistemic, share, "more labels would remove it"),
      part("aleatoric", "Noise", aleatoric, 1 - share, "would remain"),
    ),
  );
}

/** @param {string} kind @param {string} name @param {number} value @param {number} share @param {string} meaning */
function part(kind, name, value, share, meaning) {
  const swatch = h("span", { class: `swatch ${kind}`, "aria-hidden": "true" });
  return h("div", { title: meaning }, h("dt", {}, swatch, name), h("dd", {}, `${figure(value)} (${percent(share)})`));
}
