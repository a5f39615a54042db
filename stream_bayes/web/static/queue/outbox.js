// @ts-check
// Answers that could not be sent: kept in this browser until they are, or until somebody throws them away.

import { Problem, api, known, requestPath } from "../core/api.js";
import { on } from "../core/bus.js";
import { banner, toast, unbanner } from "../core/notices.js";
import { recall, remember } from "../core/store.js";
import { count, labelTitle, sentence } from "../core/words.js";

/** @typedef {{place: {partition: number, offset: number}, labeller: string, label: any, subject: string, session_id?: string}} Kept */

const AGAIN = 5000;

/** @type {Kept[]} */
let kept = recall("outbox", []);
let sending = false;
let waiting = 0;

export function startOutbox() {
  on("back", retry);
  draw(null);
  later();
}

function later() {
  clearTimeout(waiting);
  if (kept.length > 0) waiting = window.setTimeout(retry, AGAIN);
}

/** Whether the same answer may be taken a little later. @param {unknown} error */
function passes(error) {
  return error instanceof Problem && (error.status >= 500 || error.status === 429);
}

/** Whether the same answer will never be taken. @param {unknown} error */
function isFinal(error) {
  return error instanceof Problem && error.status >= 400 && error.status < 500 && ![401, 403, 408, 429].includes(error.status);
}

/** The places whose answers wait here. */
export function waitingPlaces() {
  return kept.map((one) => one.place);
}

/** @param {Kept} answer @param {unknown} why */
export function keep(answer, why) {
  // Another tab may have kept some meanwhile.
  kept = [...recall("outbox", []).filter((/** @type {Kept} */ one) => !same(one.place, answer.place)), answer];
  remember("outbox", kept);
  draw(why);
  if (passes(why)) later();
}

/** @param {any} one @param {any} other */
export function same(one, other) {
  return one.partition === other.partition && one.offset === other.offset;
}

/** @param {unknown} why */
function draw(why) {
  if (kept.length === 0) {
    unbanner("outbox");
    return;
  }
  const newest = kept[kept.length - 1];
  const what = kept.length === 1 ? `Your answer “${labelTitle(newest.label)}” to ${newest.subject}` : count(kept.length, "answer");
  const detail = why instanceof Error ? why.message : "";
  const actions = [
    { label: "Send again", action: retry },
    { label: "Throw away", action: discard },
  ];
  // What the server says of its disk is for those who look for it.
  if (why instanceof Problem && why.status === 503) {
    const one = kept.length === 1;
    const whose = `Your ${one ? "answer is" : `${kept.length} answers are`} kept and will be sent again by ${one ? "itself" : "themselves"}`;
    banner("outbox", `${whose}: the log cannot be written right now.`, actions, detail);
  } else {
    banner("outbox", `${what} could not be sent. ${detail ? `${sentence(detail)} ` : ""}It is kept in this browser.`, actions);
  }
}

function discard() {
  kept = [];
  remember("outbox", kept);
  draw(null);
}

async function retry() {
  kept = recall("outbox", []);
  if (sending || kept.length === 0) return;
  sending = true;
  /** @type {unknown} */
  let why = null;
  for (const answer of [...kept]) {
    try {
      await api.post(requestPath(answer.place, "label"), { labeller: answer.labeller, label: answer.label, ...(answer.session_id && known()?.kinds && { session_id: answer.session_id }) });
      toast(`Sent: ${labelTitle(answer.label)} for ${answer.subject}.`);
    } catch (error) {
      if (!(error instanceof Problem) || !isFinal(error)) {
        why = error;
        break;
      }
      toast(`Your answer to ${answer.subject} was not taken: ${error.message}`);
    }
    kept = recall("outbox", []).filter((/** @type {Kept} */ one) => !same(one.place, answer.place));
    remember("outbox", kept);
  }
  sending = false;
  draw(why);
  if (passes(why)) later();
}
