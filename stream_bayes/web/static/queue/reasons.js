// @ts-check
// Why the filter thinks so: what moved the odds, and which way.

import { h, s, shown } from "../core/dom.js";
import { believed, doubt } from "./opinion.js";
import { clock, count, date, figure, hue, labelTitle, labelWord, percent, probability, signed } from "../core/words.js";

// What is less than this share of all parts is folded away.
const SMALL = 0.03;
// But for the words, senders and hosts that moved it most: people look for them, however small.
const NAMED_SHOWN = 5;
// Log-odds at which a bar ends: a trifle must look like one.
const LONGEST = 1;

/** What the parts that belong to no single word are called. @type {Record<string, string>} */
const NAMES = {
  "byte n-grams": "spelling and fragments",
  intercept: "before reading it",
  biases: "habits of the members",
};

/** @typedef {{text: string, kind: string, share: number, seen?: number | null, seen_towards?: number | null}} Part */

/** The whole of an opinion, with its figures. @param {any} opinion @param {string} content @returns {Node[]} */
export function wholeOpinion(opinion, content) {
  const figures = [verdict(opinion), believed(opinion), doubt(opinion.variance, opinion.epistemic_variance)];
  return /** @type {Node[]} */ ([...figures, ...whyThinks(opinion, content)].filter(Boolean));
}

/** @param {any} opinion */
function verdict(opinion) {
  if (opinion.label === null || opinion.label === undefined) return null;
  const action = opinion.action ? h("span", { class: "action", id: "action" }, `It would ${opinion.action} it.`) : null;
  const words = h("p", { class: "verdict", "data-label": labelWord(opinion.label) }, h("strong", {}, labelTitle(opinion.label)), " ", action);
  if (opinion.label !== "spam" || opinion.action !== "deliver") return words;
  const why = "Quarantine would need a higher probability: losing a good mail costs more than passing a spam.";
  return h("div", {}, words, h("p", { class: "soft small", id: "action-why" }, why));
}

/** Which checkpoint. @param {any} opinion */
export function checkpointWords(opinion) {
  const at = opinion.checkpoint_at;
  if (!at) return "the newest checkpoint";
  const today = new Date(at).toDateString() === new Date().toDateString();
  return `the checkpoint of ${today ? clock(at) : date(at)}`;
}

/** By what it believes so, and what, in a line. @param {any} opinion */
export function byLine(opinion) {
  const of = opinion.interval_of;
  const mean = opinion.mean === null || opinion.mean === undefined ? null : figure(opinion.mean);
  const value = of && opinion.probabilities ? `${labelWord(of)} ${probability(opinion.probabilities[of] ?? 0)}` : mean;
  const by = `By ${checkpointWords(opinion)} (${count(opinion.model_version, "label")} learned)`;
  return h("p", { class: "soft small", id: "now" }, `${by}: ${value ?? "no opinion"}.`);
}

/** @param {any} opinion @returns {Part[]} */
function partsOf(opinion) {
  const rest = Object.entries(opinion.rest ?? {}).map(([name, share]) => ({ text: NAMES[name] ?? name, kind: "", share }));
  const all = [...opinion.reasons, ...rest].filter((part) => part.share !== 0);
  return all.sort((one, other) => Math.abs(other.share) - Math.abs(one.share));
}

/** @param {any} opinion @param {string} [content] @returns {Node[]} */
export function whyThinks(opinion, content = "mail") {
  const parts = partsOf(opinion);
  if (parts.length === 0) {
    const what = content === "features" ? "No feature of it moved the prediction" : "No word or sender in it moved the odds";
    return [h("p", { class: "soft" }, `${what}: the filter has not met any of them.`)];
  }
  const { towards, away } = sides(opinion);
  const whole = parts.reduce((all, part) => all + Math.abs(part.share), 0);
  const named = parts.filter((part) => part.kind).slice(0, NAMED_SHOWN);
  const isShown = (/** @type {Part} */ part) => named.includes(part) || Math.abs(part.share) >= SMALL * whole;
  const scale = opinion.towards ? LONGEST : Math.abs(parts[0].share);
  const draw = (/** @type {Part} */ part) => row(part, scale, towards, away);
  const ends = [h("span", { "data-hue": hue(away) }, `← ${away}`), h("span", { "data-hue": hue(towards) }, `${towards} →`)];
  const head = h("div", { class: "sides", "aria-hidden": "true" }, ...ends);
  const list = h("ul", { class: "reasons", id: "reasons" }, ...parts.filter(isShown).map(draw));
  const long = Math.abs(parts[0].share) > scale;
  return [head, list, sum(opinion, long), folded(parts.filter((part) => !isShown(part)), draw)].filter((node) => node !== null);
}

/** All parts together, and how the bars are drawn. @param {any} opinion @param {boolean} long */
function sum(opinion, long) {
  if (opinion.total === null || opinion.total === undefined) return null;
  const what = opinion.towards ? `Log-odds of ${labelWord(opinion.towards)}` : "The mean";
  const scale = opinion.towards ? ` Bars end at ±${LONGEST}${long ? "; one that is cut is longer" : ""}.` : "";
  return h("p", { class: "soft small sum" }, `${what}: ${signed(opinion.total)} in all.${scale}`);
}

/** @param {any} opinion */
function sides(opinion) {
  if (opinion.towards === null || opinion.towards === undefined) return { towards: "higher", away: "lower" };
  const others = Object.keys(opinion.probabilities ?? {}).filter((label) => label !== opinion.towards);
  return { towards: labelWord(opinion.towards), away: others.length === 1 ? labelWord(others[0]) : `not ${labelWord(opinion.towards)}` };
}

/** @param {Part} part @param {number} scale @param {string} towards @param {string} away */
function row(part, scale, towards, away) {
  const side = part.share >= 0 ? towards : away;
  return h(
    "li",
    { "data-side": part.share >= 0 ? "towards" : "away", "data-share": part.share },
    h("span", { class: "reason-text" }, shown(part.text), " ", part.kind ? h("span", { class: "kind" }, part.kind) : null),
    h("span", { class: "reason-share" }, signed(part.share), h("span", { class: "hidden" }, ` towards ${side}`)),
    bar(part.share, scale, side),
    h("span", { class: "reason-seen" }, seen(part, towards)),
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

/** @param {Part} part @param {string} towards */
function seen(part, towards) {
  if (part.seen === null || part.seen === undefined) return "";
  if (part.seen === 0) return "never seen before";
  if (part.seen_towards === null || part.seen_towards === undefined) return `seen ${count(part.seen, "time")}`;
  const counts = `${part.seen_towards} of ${part.seen} were ${towards} (${percent(part.seen_towards / part.seen)})`;
  return part.note ? `${counts}: ${part.note}` : counts;
}

/** @param {Part[]} parts @param {(part: Part) => Node} draw */
function folded(parts, draw) {
  if (parts.length === 0) return null;
  const together = signed(parts.reduce((all, part) => all + part.share, 0));
  const summary = h("summary", {}, `${count(parts.length, "small part")}, ${together} together`);
  return h("details", { class: "rest" }, summary, h("ul", { class: "reasons" }, ...parts.map(draw)));
}
