// @ts-check
// The view of the queue: a label request with its prediction, or the reason why there is none.

import { renderSelection } from "./selection.js";
import { byId, h, setChildren } from "../core/dom.js";
import { totals } from "../core/health.js";
import { predictionLine, renderExplanation } from "./explanation.js";
import { showRequest } from "./request.js";
import { count, sentence } from "../core/format.js";

const UNREADABLE = "The log cannot be read or written right now.";

/** @typedef {{offline: boolean, problem: import("../core/api.js").Problem | null}} Failure */

/** @param {any} request */
export function showRequestPane(request) {
  showRequest(request);
  setChildren(byId("selection-body"), ...renderSelection(request));
  const explanation = request.prediction
    ? [predictionLine(request.prediction), ...renderExplanation(request.prediction, request.content)]
    : [h("p", { class: "soft", id: "no-prediction" }, request.no_prediction ?? "There is no checkpoint to predict with.")];
  setChildren(byId("prediction-body"), ...explanation);
  byId("request-pane").hidden = false;
  byId("request-pane").setAttribute("aria-busy", "false");
  byId("answers").hidden = false;
  byId("queue-empty").hidden = true;
  // Scroll to the beginning of the next mail.
  const top = byId("view-queue").getBoundingClientRect().top + scrollY - byId("banners").offsetHeight - 80;
  if (scrollY > Math.max(0, top)) scrollTo({ top: Math.max(0, top) });
}

/**
 * @param {any} state @param {Failure} failure
 * @param {number} skipped @param {() => void} showSkipped
 */
export function showEmpty(state, failure, skipped, showSkipped) {
  const node = byId("queue-empty");
  const [title, ...lines] = failureText(failure) ?? emptyText(state, skipped);
  const content = JSON.stringify([title, lines, skipped]);
  byId("request-pane").hidden = true;
  // The answers stay visible: undo is still possible.
  node.hidden = false;
  // Details of the server's disk are shown in the tooltip only.
  node.title = failure.problem?.status === 503 ? failure.problem.message : (state?.log_problem ?? "");
  if (node.dataset.content === content) return;
  node.dataset.content = content;
  setChildren(node, h("h2", {}, title), ...lines.map((line) => h("p", {}, line)));
  if (skipped > 0) {
    const button = h("button", { type: "button", class: "primary", id: "show-skipped" }, `${count(skipped, "request")} skipped: show them again`);
    button.addEventListener("click", showSkipped);
    node.append(button);
  }
}

/** @param {Failure} failure @returns {string[] | null} */
function failureText({ offline, problem }) {
  if (offline) return ["No connection", "The server of this page does not answer. Is stream-bayes web still running? The page tries again by itself."];
  if (problem === null) return null;
  return ["The next request could not be fetched", problem.status === 503 ? UNREADABLE : sentence(problem.message), "The page tries again by itself."];
}

/** @param {any} state @param {number} skipped @returns {string[]} */
function emptyText(state, skipped) {
  if (state === null) return ["Nothing to answer yet", "The page is loading the status of the worker."];
  if (state.log_problem) return ["The log cannot be read", "New requests cannot be seen.", "The page tries again by itself."];
  const free = state.open - state.leased - skipped;
  if (skipped > 0 && free <= 0) return ["Nothing else is open", "You have skipped the remaining requests. New requests appear here by themselves."];
  if (state.open > 0 && free <= 0) {
    return ["All open requests are leased", `${count(state.leased, "request")} shown to other labellers. A released request appears here by itself.`, ...(state.healthy ? [] : [state.summary])];
  }
  if (state.stopped_at) return ["Nothing to answer, and the worker was stopped", state.summary, "Requests appear here by themselves once a worker runs."];
  if (!state.healthy) return ["Nothing to answer, and the worker is silent", state.summary, "Requests appear here by themselves once it runs."];
  if (totals().left === 0) {
    return ["The label budget is spent", "The worker requests no more labels until labels.budget grows in its settings.", state.summary];
  }
  return [
    "All requests are answered",
    "The worker requests a label when the label would teach the filter much. The next request appears here by itself.",
    state.summary,
  ];
}
