// @ts-check
// Answers that could not be sent: stored in this browser until they are sent or discarded.

import { Problem, api, currentSession, requestPath } from "../core/api.js";
import { on } from "../core/event_bus.js";
import { removeBanner, showBanner, toast } from "../core/notices.js";
import { loadSetting, saveSetting } from "../core/settings_store.js";
import { count, labelTitle, sentence } from "../core/format.js";

/** @typedef {{place: {partition: number, offset: number}, labeller: string, label: any, subject: string, session_id?: string}} UnsentAnswer */

const RETRY_AFTER = 5000;

/** @type {UnsentAnswer[]} */
let unsent = loadSetting("outbox", []);
let sending = false;
let timer = 0;

export function startOutbox() {
  on("online", retry);
  draw(null);
  scheduleRetry();
}

function scheduleRetry() {
  clearTimeout(timer);
  if (unsent.length > 0) timer = window.setTimeout(retry, RETRY_AFTER);
}

/** Whether the same answer may be accepted later. @param {unknown} error */
function isRetryable(error) {
  return error instanceof Problem && (error.status >= 500 || error.status === 429);
}

/** Whether the same answer will never be accepted. @param {unknown} error */
function isFinal(error) {
  return error instanceof Problem && error.status >= 400 && error.status < 500 && ![401, 403, 408, 429].includes(error.status);
}

/** The places of the answers that were not sent yet. */
export function unsentPlaces() {
  return unsent.map((one) => one.place);
}

/** @param {UnsentAnswer} answer @param {unknown} error */
export function storeUnsent(answer, error) {
  // Another tab may have stored answers in the meantime.
  unsent = [...loadSetting("outbox", []).filter((/** @type {UnsentAnswer} */ one) => !same(one.place, answer.place)), answer];
  saveSetting("outbox", unsent);
  draw(error);
  if (isRetryable(error)) scheduleRetry();
}

/** @param {any} one @param {any} other */
export function same(one, other) {
  return one.partition === other.partition && one.offset === other.offset;
}

/** @param {unknown} error */
function draw(error) {
  if (unsent.length === 0) {
    removeBanner("outbox");
    return;
  }
  const newest = unsent[unsent.length - 1];
  const what = unsent.length === 1 ? `Your answer “${labelTitle(newest.label)}” to ${newest.subject}` : count(unsent.length, "answer");
  const detail = error instanceof Error ? error.message : "";
  const actions = [
    { label: "Send again", action: retry },
    { label: "Discard", action: discard },
  ];
  // Details of the server's disk are shown in the tooltip only.
  if (error instanceof Problem && error.status === 503) {
    const one = unsent.length === 1;
    const text = `Your ${one ? "answer is" : `${unsent.length} answers are`} stored and will be sent again by ${one ? "itself" : "themselves"}`;
    showBanner("outbox", `${text}: the log cannot be written right now.`, actions, detail);
  } else {
    showBanner("outbox", `${what} could not be sent. ${detail ? `${sentence(detail)} ` : ""}It is stored in this browser.`, actions);
  }
}

function discard() {
  unsent = [];
  saveSetting("outbox", unsent);
  draw(null);
}

async function retry() {
  unsent = loadSetting("outbox", []);
  if (sending || unsent.length === 0) return;
  sending = true;
  /** @type {unknown} */
  let error = null;
  for (const answer of [...unsent]) {
    try {
      await api.post(requestPath(answer.place, "label"), { labeller: answer.labeller, label: answer.label, ...(answer.session_id && currentSession()?.kinds && { session_id: answer.session_id }) });
      toast(`Sent: ${labelTitle(answer.label)} for ${answer.subject}.`);
    } catch (caught) {
      if (!(caught instanceof Problem) || !isFinal(caught)) {
        error = caught;
        break;
      }
      toast(`Your answer to ${answer.subject} was not accepted: ${caught.message}`);
    }
    unsent = loadSetting("outbox", []).filter((/** @type {UnsentAnswer} */ one) => !same(one.place, answer.place));
    saveSetting("outbox", unsent);
  }
  sending = false;
  draw(error);
  if (isRetryable(error)) scheduleRetry();
}
