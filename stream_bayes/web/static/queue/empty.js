// @ts-check
// What stands in the queue: a question with its reasons, or why there is none.

import { whyAsked } from "./asked.js";
import { h, put, the } from "../core/dom.js";
import { totals } from "../core/health.js";
import { byLine, whyThinks } from "./reasons.js";
import { showQuestion } from "./question.js";
import { count, sentence } from "../core/words.js";

const UNREADABLE = "The log cannot be read or written right now.";

/** @typedef {{cutOff: boolean, trouble: import("../core/api.js").Problem | null}} Failure */

/** @param {any} question */
export function showQuestionPane(question) {
  showQuestion(question);
  put(the("asked-body"), ...whyAsked(question));
  const why = question.opinion
    ? [byLine(question.opinion), ...whyThinks(question.opinion, question.content)]
    : [h("p", { class: "soft", id: "no-opinion" }, question.no_opinion ?? "There is no checkpoint to ask.")];
  put(the("opinion-body"), ...why);
  the("queue-desk").hidden = false;
  the("queue-desk").setAttribute("aria-busy", "false");
  the("answers").hidden = false;
  the("queue-empty").hidden = true;
  // The next mail is read from its beginning.
  const top = the("view-queue").getBoundingClientRect().top + scrollY - the("banners").offsetHeight - 80;
  if (scrollY > Math.max(0, top)) scrollTo({ top: Math.max(0, top) });
}

/**
 * @param {any} state @param {Failure} failure
 * @param {number} skipped @param {() => void} showSkipped
 */
export function showEmpty(state, failure, skipped, showSkipped) {
  const node = the("queue-empty");
  const [title, ...lines] = failed(failure) ?? words(state, skipped);
  const wanted = JSON.stringify([title, lines, skipped]);
  the("queue-desk").hidden = true;
  // Undo stays possible; the answers have nothing to answer.
  node.hidden = false;
  // What the server says of its disk is for those who look for it.
  node.title = failure.trouble?.status === 503 ? failure.trouble.message : (state?.log_problem ?? "");
  if (node.dataset.drawn === wanted) return;
  node.dataset.drawn = wanted;
  put(node, h("h2", {}, title), ...lines.map((line) => h("p", {}, line)));
  if (skipped > 0) {
    const button = h("button", { type: "button", class: "primary", id: "show-skipped" }, `${count(skipped, "question")} skipped: show them again`);
    button.addEventListener("click", showSkipped);
    node.append(button);
  }
}

/** @param {Failure} failure @returns {string[] | null} */
function failed({ cutOff, trouble }) {
  if (cutOff) return ["No connection", "The server of this page does not answer. Is stream-bayes web still running? The page tries again by itself."];
  if (trouble === null) return null;
  return ["The next question could not be fetched", trouble.status === 503 ? UNREADABLE : sentence(trouble.message), "The page tries again by itself."];
}

/** @param {any} state @param {number} skipped @returns {string[]} */
function words(state, skipped) {
  if (state === null) return ["Nothing to answer yet", "The page is asking for the state of the worker."];
  if (state.log_problem) return ["The log cannot be read", "New questions cannot be seen.", "The page tries again by itself."];
  const free = state.open - state.taken - skipped;
  if (skipped > 0 && free <= 0) return ["Nothing else is open", "You have skipped what is left. New questions appear here by themselves."];
  if (state.open > 0 && free <= 0) {
    return ["Others have all that is open", `${count(state.taken, "question")} before other labellers. One that is left comes back here by itself.`, ...(state.healthy ? [] : [state.summary])];
  }
  if (state.stopped_at) return ["Nothing to answer, and the worker was stopped", state.summary, "Questions appear here by themselves once one runs."];
  if (!state.healthy) return ["Nothing to answer, and the worker is silent", state.summary, "Questions appear here by themselves once it runs."];
  if (totals().left === 0) {
    return ["The label budget is spent", "The worker asks no more until labels.budget grows in its settings.", state.summary];
  }
  return [
    "All is answered",
    "The filter asks when it meets something whose label would teach it. The next question appears here by itself.",
    state.summary,
  ];
}
