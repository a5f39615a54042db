// @ts-check
// What the answers changed: a line over the queue.

import { api, known } from "../core/api.js";
import { on, seldom } from "../core/bus.js";
import { h, put, the } from "../core/dom.js";
import { labeller } from "../core/labeller.js";
import { count, percent, whole } from "../core/words.js";

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
    put(line, "No answers yet today.");
    return;
  }
  const differed = `${whole(changes.differed)} of ${whole(changes.compared)} differed from the filter's guess`;
  const extra = [changes.unsure ? `${whole(changes.unsure)} not sure` : "", changes.corrected ? `${whole(changes.corrected)} corrected` : ""];
  const list = [numbers ? "" : differed, ...extra].filter(Boolean).map((words) => `, ${words}`).join("");
  put(line, "Today ", h("strong", {}, count(changes.today, "answer")), ` (${whole(changes.mine)} yours)${list}. `, both(changes));
}

/** The errors before today's answers and after them, each with the mails it is of. @param {any} changes */
function both({ error_before: before, error_before_of: early, error_after: after, error_after_of: late }) {
  const share = (/** @type {number} */ error, /** @type {number} */ mails) => [h("strong", {}, percent(error)), ` of ${count(mails, "labelled mail")}`];
  if (before === null && after === null) return "";
  if (before === null) return h("span", {}, "Error ", ...share(after, late), " so far.");
  if (after === null) return h("span", {}, "Error ", ...share(before, early), " before.");
  return h("span", {}, "Error ", ...share(before, early), " before, ", ...share(after, late), " since.");
}
