// @ts-check
// How the worker is doing, in the header.

import { Problem, api } from "./api.js";
import { on, seldom } from "./bus.js";
import { put, the } from "./dom.js";
import { banner, unbanner } from "./notices.js";
import { clock, count, duration, short, whole } from "./words.js";

const PAUSE = 2000;
const BEAT = 15_000;
const UNREADABLE = "The log cannot be read right now: new questions and figures cannot be seen. The page tries again by itself.";

/** @type {any} */
let state = null;
/** @type {((state: any) => void)[]} */
const listeners = [];

/** The newest state, or null before the first. */
export function health() {
  return state;
}

/** @param {(state: any) => void} listener */
export function onHealth(listener) {
  listeners.push(listener);
}

export function startHealth() {
  const again = seldom(PAUSE, look);
  on("change", again);
  on("back", again);
  on("lost", () => say("bad", "No connection to the page's server", ""));
  setInterval(() => document.hidden || again(), BEAT);
  document.addEventListener("visibilitychange", again);
}

async function look() {
  try {
    state = await api.get("api/status");
  } catch (error) {
    if (error instanceof Problem) {
      say("bad", "The state is not known", error.message);
      if (error.status === 503) banner("log", UNREADABLE, [], error.message);
    }
    return;
  }
  draw();
  for (const listener of listeners) listener(state);
}

function draw() {
  if (state.log_problem) banner("log", UNREADABLE, [], `${state.log_problem} ${state.summary}`);
  else unbanner("log");
  const [kind, words] = verdict();
  say(kind, words, state.summary);
  const badge = the("open-count");
  put(badge, whole(state.open));
  badge.setAttribute("aria-label", `${whole(state.open)} open`);
}

/** @returns {[string, string]} */
export function verdict() {
  if (state.log_problem) return ["bad", "The page cannot read the log"];
  if (state.partitions.length === 0) return ["warn", "No worker has reported yet"];
  if (state.stopped_at) return ["warn", `Worker stopped at ${clock(state.stopped_at)}`];
  if (state.partitions.some((/** @type {any} */ one) => one.stopped)) return ["warn", "A worker was stopped"];
  const youngest = Math.min(...state.partitions.map((/** @type {any} */ one) => one.age_seconds));
  if (!state.healthy) return ["warn", `Worker silent for ${duration(youngest)}`];
  return ["good", "Worker running"];
}

/** @param {string} kind @param {string} words @param {string} summary */
function say(kind, words, summary) {
  const strip = the("health");
  strip.dataset.state = kind;
  strip.title = summary;
  put(the("health-words"), words);
  put(the("health-numbers"), state === null || kind === "bad" ? "" : numbers());
}

function numbers() {
  const { events, left, lag, dead } = totals();
  const parts = [`${short(events)} events`];
  if (left !== null) parts.push(`${short(left)} labels left`);
  parts.push(lagWords(lag));
  if (dead > 0) parts.push(count(dead, "dead letter"));
  return parts.join(" · ");
}

/** @param {number | null} lag */
export function lagWords(lag) {
  return lag === null ? "lag unknown" : lag === 0 ? "no lag" : `lag ${short(lag)}`;
}

/** Over all partitions; labels left are null where there is no limit, the lag where one does not know it. */
export function totals() {
  const parts = state?.partitions ?? [];
  const sum = (/** @type {string} */ name) => parts.reduce((/** @type {number} */ all, /** @type {any} */ one) => all + one[name], 0);
  const limited = parts.length > 0 && parts.every((/** @type {any} */ one) => one.labels_remaining !== null);
  const sure = parts.every((/** @type {any} */ one) => one.lag !== null);
  return { events: sum("events"), lag: sure ? sum("lag") : null, dead: sum("dead_letters"), left: limited ? sum("labels_remaining") : null };
}
