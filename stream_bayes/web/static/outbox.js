// @ts-check
// Answers that could not be sent: kept in this browser until they are, or until somebody throws them away.

import { Problem, api, requestPath } from "./api.js";
import { on } from "./bus.js";
import { banner, toast, unbanner } from "./notices.js";
import { recall, remember } from "./store.js";
import { count, labelTitle, sentence } from "./words.js";

/** @typedef {{place: {partition: number, offset: number}, labeller: string, label: any, subject: string}} Kept */

/** @type {Kept[]} */
let kept = recall("outbox", []);
let sending = false;

export function startOutbox() {
  on("back", retry);
  draw("");
}

/** The places whose answers wait here. */
export function waitingPlaces() {
  return kept.map((one) => one.place);
}

/** @param {Kept} answer @param {string} why */
export function keep(answer, why) {
  kept = [...kept.filter((one) => !same(one.place, answer.place)), answer];
  remember("outbox", kept);
  draw(why);
}

/** @param {any} one @param {any} other */
export function same(one, other) {
  return one.partition === other.partition && one.offset === other.offset;
}

/** @param {string} why */
function draw(why) {
  if (kept.length === 0) {
    unbanner("outbox");
    return;
  }
  const newest = kept[kept.length - 1];
  const what = kept.length === 1 ? `Your answer “${labelTitle(newest.label)}” to ${newest.subject}` : count(kept.length, "answer");
  const text = `${what} could not be sent. ${why ? `${sentence(why)} ` : ""}It is kept in this browser.`;
  banner("outbox", text, [
    { label: "Send again", action: retry },
    { label: "Throw away", action: discard },
  ]);
}

function discard() {
  kept = [];
  remember("outbox", kept);
  draw("");
}

async function retry() {
  if (sending || kept.length === 0) return;
  sending = true;
  let why = "";
  for (const answer of [...kept]) {
    try {
      await api.post(requestPath(answer.place, "label"), { labeller: answer.labeller, label: answer.label });
      toast(`Sent: ${labelTitle(answer.label)} for ${answer.subject}.`);
    } catch (error) {
      if (!(error instanceof Problem) || ![404, 409].includes(error.status)) {
        why = error instanceof Error ? error.message : "";
        break;
      }
      toast(`Your answer to ${answer.subject} is not needed any more: ${error.message}`);
    }
    kept = kept.filter((one) => one !== answer);
    remember("outbox", kept);
  }
  sending = false;
  draw(why);
}
