// @ts-check
// The explanation of a prediction: the contribution of each feature to the log-odds or to the mean.

import { h, s, visibleText } from "../core/dom.js";
import { renderInterval, renderVariance } from "./prediction.js";
import { clock, count, date, figure, hue, labelText, labelTitle, percent, probability, signed } from "../core/format.js";

// Contributions below this share of the sum of all are folded.
const SMALL = 0.03;
// The largest contributions of words, senders and hosts are shown at any size: people look for them.
const NAMED_SHOWN = 5;
// Log-odds at which a bar ends. The scale is fixed, so that small contributions have short bars.
const LONGEST = 1;

/** Names of the contributions that belong to no single feature. @type {Record<string, string>} */
const NAMES = {
  "byte n-grams": "spelling and fragments",
  intercept: "before reading it",
  biases: "biases of the members",
};

/** @typedef {{text: string, kind: string, share: number, seen?: number | null, seen_towards?: number | null}} Contribution */

/** A prediction with its interval, variance and explanation. @param {any} prediction @param {string} content @returns {Node[]} */
export function renderPrediction(prediction, content) {
  const figures = [predictedLabel(prediction), renderInterval(prediction), renderVariance(prediction.variance, prediction.epistemic_variance)];
  return /** @type {Node[]} */ ([...figures, ...renderExplanation(prediction, content)].filter(Boolean));
}

/** @param {any} prediction */
function predictedLabel(prediction) {
  if (prediction.label === null || prediction.label === undefined) return null;
  const action = prediction.action ? h("span", { class: "action", id: "action" }, `It would ${prediction.action} it.`) : null;
  const words = h("p", { class: "predicted-label", "data-label": labelText(prediction.label) }, h("strong", {}, labelTitle(prediction.label)), " ", action);
  if (prediction.label !== "spam" || prediction.action !== "deliver") return words;
  const why = "Quarantine would need a higher probability: a ham in quarantine costs more than a delivered spam.";
  return h("div", {}, words, h("p", { class: "soft small", id: "action-why" }, why));
}

/** The name of the checkpoint that made a prediction. @param {any} prediction */
export function checkpointName(prediction) {
  const at = prediction.checkpoint_at;
  if (!at) return "the newest checkpoint";
  const today = new Date(at).toDateString() === new Date().toDateString();
  return `the checkpoint of ${today ? clock(at) : date(at)}`;
}

/** A line with the checkpoint and the prediction. @param {any} prediction */
export function predictionLine(prediction) {
  const of = prediction.interval_of;
  const mean = prediction.mean === null || prediction.mean === undefined ? null : figure(prediction.mean);
  const value = of && prediction.probabilities ? `${labelText(of)} ${probability(prediction.probabilities[of] ?? 0)}` : mean;
  const by = `By ${checkpointName(prediction)} (${count(prediction.model_version, "label")} learned)`;
  return h("p", { class: "soft small", id: "prediction-line" }, `${by}: ${value ?? "no prediction"}.`);
}

/** @param {any} prediction @returns {Contribution[]} */
function contributionsOf(prediction) {
  const rest = Object.entries(prediction.rest ?? {}).map(([name, share]) => ({ text: NAMES[name] ?? name, kind: "", share }));
  const all = [...prediction.reasons, ...rest].filter((contribution) => contribution.share !== 0);
  return all.sort((one, other) => Math.abs(other.share) - Math.abs(one.share));
}

/** @param {any} prediction @param {string} [content] @returns {Node[]} */
export function renderExplanation(prediction, content = "mail") {
  const contributions = contributionsOf(prediction);
  if (contributions.length === 0) {
    const what = content === "features" ? "No feature of it moved the prediction" : "No word or sender in it moved the odds";
    return [h("p", { class: "soft" }, `${what}: the filter has seen none of them before.`)];
  }
  const { towards, away } = sideNames(prediction);
  const whole = contributions.reduce((all, contribution) => all + Math.abs(contribution.share), 0);
  const named = contributions.filter((contribution) => contribution.kind).slice(0, NAMED_SHOWN);
  const isShown = (/** @type {Contribution} */ contribution) => named.includes(contribution) || Math.abs(contribution.share) >= SMALL * whole;
  const scale = prediction.towards ? LONGEST : Math.abs(contributions[0].share);
  const draw = (/** @type {Contribution} */ contribution) => row(contribution, scale, towards, away);
  const ends = [h("span", { "data-hue": hue(away) }, `← ${away}`), h("span", { "data-hue": hue(towards) }, `${towards} →`)];
  const head = h("div", { class: "sides", "aria-hidden": "true" }, ...ends);
  const list = h("ul", { class: "reasons", id: "reasons" }, ...contributions.filter(isShown).map(draw));
  const long = Math.abs(contributions[0].share) > scale;
  return [head, list, totalLine(prediction, long), foldedList(contributions.filter((contribution) => !isShown(contribution)), draw)].filter((node) => node !== null);
}

/** A line with the sum of all contributions and the scale of the bars. @param {any} prediction @param {boolean} long */
function totalLine(prediction, long) {
  if (prediction.total === null || prediction.total === undefined) return null;
  const what = prediction.towards ? `Log-odds of ${labelText(prediction.towards)}` : "The mean";
  const scale = prediction.towards ? ` Bars end at ±${LONGEST}${long ? "; a longer bar is cut" : ""}.` : "";
  return h("p", { class: "soft small sum" }, `${what}: ${signed(prediction.total)} in all.${scale}`);
}

/** @param {any} prediction */
function sideNames(prediction) {
  if (prediction.towards === null || prediction.towards === undefined) return { towards: "higher", away: "lower" };
  const others = Object.keys(prediction.probabilities ?? {}).filter((label) => label !== prediction.towards);
  return { towards: labelText(prediction.towards), away: others.length === 1 ? labelText(others[0]) : `not ${labelText(prediction.towards)}` };
}

/** @param {Contribution} contribution @param {number} scale @param {string} towards @param {string} away */
function row(contribution, scale, towards, away) {
  const side = contribution.share >= 0 ? towards : away;
  return h(
    "li",
    { "data-side": contribution.share >= 0 ? "towards" : "away", "data-share": contribution.share },
    h("span", { class: "reason-text" }, visibleText(contribution.text), " ", contribution.kind ? h("span", { class: "kind" }, contribution.kind) : null),
    h("span", { class: "reason-share" }, signed(contribution.share), h("span", { class: "hidden" }, ` towards ${side}`)),
    bar(contribution.share, scale, side),
    h("span", { class: "reason-seen" }, seenText(contribution, towards)),
  );
}

/** @param {number} share @param {number} scale @param {string} side */
function bar(share, scale, side) {
  const far = Math.abs(share) / scale;
  const width = Math.max(0.4, Math.min(1, far) * 50);
  const cut = far > 1 ? s("rect", { class: "cut-mark", x: share >= 0 ? "95%" : "4%", y: 0, width: 3, height: "100%" }) : null;
  return s(
    "svg",
    { class: "diverging", "aria-hidden": "true", "data-hue": hue(side), "data-side": share >= 0 ? "towards" : "away", "data-cut": cut !== null },
    s("rect", { class: "bar", x: `${share >= 0 ? 50 : 50 - width}%`, y: 0, width: `${width}%`, height: "100%" }),
    cut,
    s("rect", { class: "axis", x: "50%", y: 0, width: 1, height: "100%" }),
  );
}

/** @param {Contribution} contribution @param {string} towards */
function seenText(contribution, towards) {
  if (contribution.seen === null || contribution.seen === undefined) return "";
  if (contribution.seen === 0) return "never seen before";
  if (contribution.seen_towards === null || contribution.seen_towards === undefined) return `seen ${count(contribution.seen, "time")}`;
  const counts = `${contribution.seen_towards} of ${contribution.seen} were ${towards} (${percent(contribution.seen_towards / contribution.seen)})`;
  return contribution.note ? `${counts}: ${contribution.note}` : counts;
}

/** @param {Contribution[]} contributions @param {(contribution: Contribution) => Node} draw */
function foldedList(contributions, draw) {
  if (contributions.length === 0) return null;
  const together = signed(contributions.reduce((all, contribution) => all + contribution.share, 0));
  const summary = h("summary", {}, `${count(contributions.length, "small contribution")}, ${together} together`);
  return h("details", { class: "rest" }, summary, h("ul", { class: "reasons" }, ...contributions.map(draw)));
}
