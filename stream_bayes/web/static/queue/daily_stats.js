// @ts-check
// The statistics of the day, in a line above the queue: answers, and the error rate before and after them.

import { api, currentSession } from "../core/api.js";
import { on, throttle } from "../core/event_bus.js";
import { byId, h, setChildren } from "../core/dom.js";
import { labeller } from "../core/labeller.js";
import { count, percent, whole } from "../core/format.js";

const PAUSE = 2000;
const DAY = "Answers of today, in UTC.";
const MEANING =
  "The error is the share of wrong predictions among labelled mails: before, those labelled before today's first " +
  "answer; since, those labelled after it. Labels are requested for hard mails: over all mails the error is lower.";

export function startDailyStats() {
  const refresh = throttle(PAUSE, fetchStats);
  for (const name of ["change", "online", "labeller"]) on(name, refresh);
}

async function fetchStats() {
  let stats;
  try {
    stats = await api.get(`api/daily-stats?labeller=${encodeURIComponent(labeller())}`);
  } catch {
    return;
  }
  draw(stats);
}

/** @param {any} stats */
function draw(stats) {
  const line = byId("daily-stats");
  line.dataset.today = stats.today;
  line.dataset.mine = stats.mine;
  line.dataset.differed = stats.differed;
  const numbers = currentSession()?.numbers ?? false;
  line.title = numbers ? DAY : `${DAY} ${MEANING}`;
  if (stats.today === 0) {
    setChildren(line, "No answers yet today.");
    return;
  }
  const differed = `${whole(stats.differed)} of ${whole(stats.compared)} differed from the prediction`;
  const extra = [stats.abstained ? `${whole(stats.abstained)} not sure` : "", stats.corrected ? `${whole(stats.corrected)} corrected` : ""];
  const list = [numbers ? "" : differed, ...extra].filter(Boolean).map((words) => `, ${words}`).join("");
  setChildren(line, "Today ", h("strong", {}, count(stats.today, "answer")), ` (${whole(stats.mine)} yours)${list}. `, errorRates(stats));
}

/** The error rates before and after today's answers, each with its number of mails. @param {any} stats */
function errorRates({ error_before: before, error_before_of: early, error_after: after, error_after_of: late }) {
  const share = (/** @type {number} */ error, /** @type {number} */ mails) => [h("strong", {}, percent(error)), ` of ${count(mails, "labelled mail")}`];
  if (before === null && after === null) return "";
  if (before === null) return h("span", {}, "Error ", ...share(after, late), " so far.");
  if (after === null) return h("span", {}, "Error ", ...share(before, early), " before.");
  return h("span", {}, "Error ", ...share(before, early), " before, ", ...share(after, late), " since.");
}
