// @ts-check
// Why the filter thinks so: what moved the odds, and which way.

import { h, s, shown } from "./dom.js";
import { believed, doubt } from "./opinion.js";
import { count, hue, labelTitle, labelWord, percent, probability, signed } from "./words.js";

const SHOWN = 8;

/** The whole of an opinion, with its figures. @param {any} opinion @returns {Node[]} */
export function wholeOpinion(opinion) {
  const figures = [verdict(opinion), believed(opinion), doubt(opinion.variance, opinion.epistemic_variance)];
  return /** @type {Node[]} */ ([...figures, ...whyThinks(opinion)].filter(Boolean));
}

/** @param {any} opinion */
function verdict(opinion) {
  if (opinion.label === null || opinion.label === undefined) return null;
  const action = opinion.action ? h("span", { class: "action", id: "action" }, `It would ${opinion.action} it.`) : null;
  return h("p", { class: "verdict", "data-label": labelWord(opinion.label) }, h("strong", {}, labelTitle(opinion.label)), " ", action);
}

/** What it believes now, in a line. @param {any} opinion */
export function nowLine(opinion) {
  const of = opinion.interval_of;
  const value = of && opinion.probabilities ? `${labelWord(of)} ${probability(opinion.probabilities[of] ?? 0)}` : opinion.mean?.toPrecision(3);
  return h("p", { class: "soft small", id: "now" }, `Now, after ${count(opinion.model_version, "label")}: ${value ?? "no opinion"}.`);
}

/** @param {any} opinion @returns {Node[]} */
export function whyThinks(opinion) {
  if (opinion.reasons.length === 0) {
    return [h("p", { class: "soft" }, "No word or sender in it moved the odds: the filter has not met any of them.")];
  }
  const { towards, away } = sides(opinion);
  const all = opinion.reasons;
  const rest = Object.entries(opinion.rest ?? {});
  const most = Math.max(...all.map((/** @type {any} */ one) => Math.abs(one.share)), 1e-9);
  const draw = (/** @type {any} */ reason) => row(reason, most, towards, away);
  const ends = [h("span", { "data-hue": hue(away) }, `← ${away}`), h("span", { "data-hue": hue(towards) }, `${towards} →`)];
  const head = h("div", { class: "sides", "aria-hidden": "true" }, ...ends);
  const list = h("ul", { class: "reasons", id: "reasons" }, ...all.slice(0, SHOWN).map(draw));
  return [head, list, sum(opinion), folded(all.slice(SHOWN), rest, draw)].filter((node) => node !== null);
}

/** All parts together, and how much of it is shown. @param {any} opinion */
function sum(opinion) {
  if (opinion.total === null || opinion.total === undefined) return null;
  const told = opinion.reasons.slice(0, SHOWN).reduce((/** @type {number} */ all, /** @type {any} */ one) => all + one.share, 0);
  const what = opinion.towards ? `Log-odds of ${labelWord(opinion.towards)}` : "The mean";
  return h("p", { class: "soft small sum" }, `${what}: ${signed(opinion.total)} in all, ${signed(told)} from these.`);
}

/** @param {any} opinion */
function sides(opinion) {
  if (opinion.towards === null || opinion.towards === undefined) return { towards: "higher", away: "lower" };
  const others = Object.keys(opinion.probabilities ?? {}).filter((label) => label !== opinion.towards);
  return { towards: labelWord(opinion.towards), away: others.length === 1 ? labelWord(others[0]) : `not ${labelWord(opinion.towards)}` };
}

/** @param {any} reason @param {number} most @param {string} towards @param {string} away */
function row(reason, most, towards, away) {
  const side = reason.share >= 0 ? towards : away;
  const width = (Math.abs(reason.share) / most) * 50;
  const bar = s(
    "svg",
    { class: "diverging", "aria-hidden": "true", "data-hue": hue(side), "data-side": reason.share >= 0 ? "towards" : "away" },
    s("rect", { class: "bar", x: `${reason.share >= 0 ? 50 : 50 - width}%`, y: 0, width: `${Math.max(width, 0.7)}%`, height: "100%" }),
    s("rect", { class: "axis", x: "50%", y: 0, width: 1, height: "100%" }),
  );
  return h(
    "li",
    { "data-side": reason.share >= 0 ? "towards" : "away", "data-share": reason.share },
    h("span", { class: "reason-text" }, shown(reason.text), " ", reason.kind ? h("span", { class: "kind" }, reason.kind) : null),
    h("span", { class: "reason-share" }, signed(reason.share), h("span", { class: "hidden" }, ` towards ${side}`)),
    bar,
    h("span", { class: "reason-seen" }, seen(reason, towards)),
  );
}

/** @param {any} reason @param {string} towards */
function seen(reason, towards) {
  if (reason.seen === null || reason.seen === undefined) return "";
  if (reason.seen === 0) return "never seen before";
  if (reason.seen_towards === null || reason.seen_towards === undefined) return `seen ${count(reason.seen, "time")}`;
  return `${reason.seen_towards} of ${reason.seen} were ${towards} (${percent(reason.seen_towards / reason.seen)})`;
}

/** @param {any[]} reasons @param {[string, number][]} rest @param {(reason: any) => Node} draw */
function folded(reasons, rest, draw) {
  const others = rest.map(([name, share]) =>
    h("li", {}, h("span", { class: "reason-text" }, shown(name)), h("span", { class: "reason-share" }, signed(share))),
  );
  if (reasons.length + others.length === 0) return null;
  return h(
    "details",
    { class: "rest" },
    h("summary", {}, `${count(reasons.length + others.length, "more part")}`),
    h("ul", { class: "reasons" }, ...reasons.map(draw), ...others),
  );
}
