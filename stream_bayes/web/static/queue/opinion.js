// @ts-check
// A belief drawn small: the interval of a probability, the parts of a variance.

import { h, s } from "../core/dom.js";
import { figure, hue, percent, probability } from "../core/words.js";

/** @typedef {{probabilities?: Record<string, number> | null, mean?: number | null, interval?: [number, number] | null, interval_of?: string | null}} Belief */

/** The label that the beliefs of this learner are about, as far as one has been told. @type {string | null} */
let usual = null;

/** The label that a belief is about, with its probability. @param {Belief} belief @returns {[string, number] | null} */
export function meant(belief) {
  usual = belief.interval_of ?? usual;
  const all = Object.entries(belief.probabilities ?? {});
  if (all.length === 0) return null;
  const wanted = [belief.interval_of, usual, "spam"].find((label) => label && label in (belief.probabilities ?? {}));
  const named = all.find(([label]) => label === wanted);
  return named ?? all.reduce((best, one) => (one[1] > best[1] ? one : best));
}

/** A probability or a mean, in words and as a bar with its interval. @param {Belief} belief */
export function believed(belief) {
  const about = meant(belief);
  const interval = belief.interval ?? null;
  if (about !== null) {
    const [label, p] = about;
    return drawn(label, probability(p), p, interval, [0, 1], probability);
  }
  if (belief.mean === null || belief.mean === undefined) return h("p", { class: "soft" }, "Nothing was known of it then.");
  const [low, high] = interval ?? [belief.mean, belief.mean];
  const room = (high - low) * 0.5 || Math.abs(belief.mean) * 0.1 || 1;
  return drawn("mean", figure(belief.mean), belief.mean, interval, [low - room, high + room], figure);
}

/**
 * @param {string} name @param {string} value @param {number} at
 * @param {[number, number] | null} interval @param {[number, number]} range @param {(value: number) => string} format
 */
function drawn(name, value, at, interval, [from, to], format) {
  const place = (/** @type {number} */ x) => Math.min(100, Math.max(0, ((x - from) / (to - from)) * 100));
  const parts = [s("rect", { class: "track", x: 0, y: "50%", width: "100%", height: 2, transform: "translate(0 -1)" })];
  if (interval !== null) {
    const [low, high] = interval.map(place);
    const box = { x: `${low}%`, width: `${Math.max(0.5, high - low)}%`, y: 5, height: 12, rx: 3 };
    parts.push(s("rect", { class: "range", ...box }));
  }
  parts.push(s("rect", { class: "point", x: `${place(at)}%`, y: 1, width: 4, height: 20, rx: 2, transform: "translate(-2 0)" }));
  const span = interval === null ? "" : `95 % between ${format(interval[0])} and ${format(interval[1])}`;
  const said = [h("span", { class: "belief-label" }, name), " ", h("strong", {}, value), " ", h("span", { class: "soft" }, span)];
  const words = h("p", { class: "belief-words" }, ...said);
  const label = `${name} ${value}${span ? `, ${span}` : ""}`;
  const ends = h("div", { class: "ends", "aria-hidden": "true" }, h("span", {}, format(from)), h("span", {}, format(to)));
  const bar = s("svg", { class: "interval", role: "img", "aria-label": label, "data-hue": hue(name) }, ...parts);
  return h("div", { class: "belief" }, words, bar, ends);
}

/**
 * Variance as noise and ignorance.
 * @param {number | null | undefined} variance @param {number | null | undefined} ignorance
 */
export function doubt(variance, ignorance) {
  if (variance === null || variance === undefined) return null;
  if (ignorance === null || ignorance === undefined) return h("p", {}, "Variance ", h("strong", {}, figure(variance)));
  const noise = Math.max(0, variance - ignorance);
  const share = variance > 0 ? Math.min(1, ignorance / variance) : 0;
  const split = `${share * 100}%`;
  const label = `variance ${figure(variance)}: ignorance ${figure(ignorance)}, noise ${figure(noise)}`;
  const bar = s(
    "svg",
    { class: "doubt-bar", role: "img", "aria-label": label },
    s("rect", { class: "noise", x: 0, y: 0, width: "100%", height: "100%" }),
    s("rect", { class: "ignorance", x: 0, y: 0, width: split, height: "100%" }),
  );
  return h(
    "div",
    { class: "doubt" },
    h("p", { class: "doubt-words" }, "Variance ", h("strong", {}, figure(variance))),
    bar,
    h(
      "dl",
      { class: "doubt-parts" },
      part("ignorance", "Ignorance", ignorance, share, "more labels would remove it"),
      part("noise", "Noise", noise, 1 - share, "would stay"),
    ),
  );
}

/** @param {string} kind @param {string} name @param {number} value @param {number} share @param {string} meaning */
function part(kind, name, value, share, meaning) {
  const swatch = h("span", { class: `swatch ${kind}`, "aria-hidden": "true" });
  return h("div", { title: meaning }, h("dt", {}, swatch, name), h("dd", {}, `${figure(value)} (${percent(share)})`));
}
