// @ts-check
// The reason of a label request: the prediction at that time, its variance, and the score of the strategy.

import { escapeHidden, h } from "../core/dom.js";
import { renderInterval, renderVariance } from "./prediction.js";
import { count, figure, percent } from "../core/format.js";

/** The quantity that the score of each strategy measures. @type {Record<string, string>} */
const MEASURES = {
  variance: "the variance of the answer",
  epistemic: "the epistemic variance it would remove",
  latent: "the variance of the log-odds",
  information: "the information expected from it",
  margin: "how close two labels are",
  entropy: "the entropy of the label",
  disagreement: "the disagreement of the members of the filter",
};

/** @param {any} request @returns {HTMLElement[]} */
export function renderSelection({ selection, prediction }) {
  const current = prediction ? { ...selection, interval: currentInterval(selection, prediction), interval_of: prediction.interval_of } : selection;
  const withInterval = selection.interval ? selection : current;
  const parts = [renderInterval(withInterval), renderVariance(selection.variance, selection.epistemic_variance), scoreLine(selection)];
  if (selection.budget_left !== null) {
    parts.push(h("p", { class: "soft", id: "budget-left" }, `${count(selection.budget_left, "label")} left in the budget at the time of the request.`));
  }
  return /** @type {HTMLElement[]} */ (parts.filter((part) => part !== null));
}

/** The interval of the current prediction if it contains the mean or probability of the request. @param {any} selection @param {any} prediction */
function currentInterval(selection, prediction) {
  const then = selection.mean ?? selection.probabilities?.[prediction.interval_of];
  const [low, high] = prediction.interval;
  return then !== undefined && then >= low && then <= high ? prediction.interval : null;
}

/** The rank of the score among the other open requests. @param {number | null} rank */
function rankText(rank) {
  if (rank === null || rank <= 0) return ".";
  return rank >= 1 ? ": higher than any other open request." : `: higher than ${percent(rank)} of the other open requests.`;
}

/** @param {any} selection */
function scoreLine(selection) {
  if (selection.strategy === "audit") {
    return h("p", { id: "request-score" }, h("strong", {}, "Drawn at random"), ", for an unbiased estimate of the accuracy.");
  }
  if (selection.strategy === "coverage") {
    const why = ": such mail is common, and few of its labels were requested.";
    return h("p", { id: "request-score" }, h("strong", {}, "Common and rarely labelled"), why);
  }
  if (selection.strategy === "random") return h("p", { id: "request-score" }, h("strong", {}, "Drawn at random"), ", as the settings say.");
  const measure = MEASURES[selection.strategy] ?? escapeHidden(selection.strategy);
  if (selection.score === null) return h("p", { id: "request-score" }, `Chosen by ${measure}.`);
  const now = selection.score_now ?? selection.score;
  const then = figure(now) === figure(selection.score) ? "" : ` (${figure(selection.score)} at the time of the request)`;
  const score = h("span", {}, "Score ", h("strong", {}, figure(now)), `${then}, ${measure}`);
  return h("p", { id: "request-score", "data-strategy": selection.strategy }, score, rankText(selection.rank));
}
