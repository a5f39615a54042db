// @ts-check
// Why a question was asked.

import { h, plain } from "../core/dom.js";
import { believed, doubt } from "./opinion.js";
import { count, figure, percent } from "../core/words.js";

/** What a score measures. @type {Record<string, string>} */
const MEASURES = {
  variance: "the variance of the answer",
  epistemic: "the ignorance it would remove",
  latent: "the variance of the log-odds",
  information: "the information expected from it",
  margin: "how close two labels are",
  entropy: "the entropy of the label",
  disagreement: "how far the parts of the filter disagree",
};

/** @param {any} question @returns {HTMLElement[]} */
export function whyAsked(question) {
  const { asked, opinion } = question;
  const known = asked.interval || !opinion ? asked : { ...asked, interval: borrowed(asked, opinion), interval_of: opinion.interval_of };
  const parts = [believed(known), doubt(asked.variance, asked.epistemic_variance), worth(asked)];
  if (asked.budget_left !== null) {
    parts.push(h("p", { class: "soft", id: "budget-left" }, `${count(asked.budget_left, "label")} left in the budget when it was asked.`));
  }
  return /** @type {HTMLElement[]} */ (parts.filter((part) => part !== null));
}

/** The interval that the filter gives now, where it still gives the same figure. @param {any} asked @param {any} opinion */
function borrowed(asked, opinion) {
  const then = asked.mean ?? asked.probabilities?.[opinion.interval_of];
  const [low, high] = opinion.interval;
  return then !== undefined && then >= low && then <= high ? opinion.interval : null;
}

/** How it compares with what else is open. @param {number | null} rank */
function ranked(rank) {
  if (rank === null || rank <= 0) return ".";
  return rank >= 1 ? ": worth more than any other open question." : `: worth more than ${percent(rank)} of the other open questions.`;
}

/** @param {any} asked */
function worth(asked) {
  if (asked.strategy === "audit") {
    return h("p", { id: "worth" }, h("strong", {}, "Drawn by chance"), ", to know the accuracy without favour.");
  }
  if (asked.strategy === "random") return h("p", { id: "worth" }, h("strong", {}, "Drawn by chance"), ", as the settings say.");
  const measure = MEASURES[asked.strategy] ?? plain(asked.strategy);
  if (asked.score === null) return h("p", { id: "worth" }, `Chosen by ${measure}.`);
  const now = asked.score_now ?? asked.score;
  const then = figure(now) === figure(asked.score) ? "" : ` (${figure(asked.score)} when it was asked)`;
  const score = h("span", {}, "Score ", h("strong", {}, figure(now)), `${then}, ${measure}`);
  return h("p", { id: "worth", "data-strategy": asked.strategy }, score, ranked(asked.rank));
}
