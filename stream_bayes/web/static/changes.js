// @ts-check
// What the answers changed: a line over the queue.

import { api, known } from "./api.js";
import { on, seldom } from "./bus.js";
import { h, put, the } from "./dom.js";
import { labeller } from "./labeller.js";
import { count, percent, whole } from "./words.js";

const PAUSE = 2000;
const DAY = "Answers of today, by universal time.";
const MEANING =
  "The error is the share of wrong guesses of the filter among labelled mails: before, those labelled before today's " +
  "first answer; after, those labelled since. What is asked about is hard: of all mails fewer are wrong.";

export function startChanges() {
  const again = seldom(PAUSE, look);
  for (const name of ["change", "back", "name"]) on(name, again);
}

async function look() {
  let changes;
  try {
    changes = await api.get(`api/changes?labeller=${encodeURIComponent(labeller())}`);
  } catch {
    return;
  }
  draw(changes);
}

/** @param {any} changes */
function draw(changes) {
  const line = the("changes");
  line.dataset.today = changes.today;
  line.dataset.mine = changes.mine;
  line.dataset.differed = changes.differed;
  const numbers = known()?.numbers ?? false;
  line.title = numbers ? DAY : `${DAY} ${MEANING}`;
  if (changes.today === 0) {
    put(line, "No answers yet today. ", error("Error so far", changes.error_before));
    return;
  }
  const differed = `${whole(changes.differed)} differed from the filter's guess`;
  const extra = [changes.unsure ? `${whole(changes.unsure)} not sure` : "", changes.corrected ? `${whole(changes.corrected)} corrected` : ""];
  const list = [numbers ? "" : differed, ...extra].filter(Boolean).map((words) => `, ${words}`).join("");
  put(line, "Today ", h("strong", {}, count(changes.today, "answer")), ` (${whole(changes.mine)} yours)${list}. `, both(changes));
}

/** @param {string} words @param {number | null} share */
function error(words, share) {
  return share === null ? "" : `${words} ${percent(share)}.`;
}

/** @param {any} changes */
function both({ error_before: before, error_after: after }) {
  if (before === null && after === null) return "";
  if (before === null) return h("span", {}, "Error ", h("strong", {}, percent(after)), " so far.");
  if (after === null) return h("span", {}, "Error ", h("strong", {}, percent(before)), " before.");
  return h("span", {}, "Error ", h("strong", {}, percent(before)), " before, ", h("strong", {}, percent(after)), " after.");
}
