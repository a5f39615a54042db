// @ts-check
// The status of the worker, in the header.

import { Problem, api } from "./api.js";
import { on, throttle } from "./event_bus.js";
import { byId, setChildren } from "./dom.js";
import { removeBanner, showBanner } from "./notices.js";
import { clock, count, duration, short, whole } from "./format.js";

const PAUSE = 2000;
const REFRESH_EVERY = 15_000;
const UNREADABLE = "The log cannot be read right now: new requests and charts cannot be loaded. The page tries again by itself.";

/** @type {any} */
let state = null;
/** @type {((state: any) => void)[]} */
const listeners = [];

/** The newest status, or null before it is loaded. */
export function health() {
  return state;
}

/** @param {(state: any) => void} listener */
export function onHealth(listener) {
  listeners.push(listener);
}

export function startHealth() {
  const refresh = throttle(PAUSE, fetchStatus);
  on("change", refresh);
  on("online", refresh);
  on("offline", () => show("bad", "No connection to the page's server", ""));
  setInterval(() => document.hidden || refresh(), REFRESH_EVERY);
  document.addEventListener("visibilitychange", refresh);
}

async function fetchStatus() {
  try {
    state = await api.get("api/status");
  } catch (error) {
    if (error instanceof Problem) {
      show("bad", "The status is unknown", error.message);
      if (error.status === 503) showBanner("log", UNREADABLE, [], error.message);
    }
    return;
  }
  draw();
  for (const listener of listeners) listener(state);
}

function draw() {
  if (state.log_problem) showBanner("log", UNREADABLE, [], `${state.log_problem} ${state.summary}`);
  else removeBanner("log");
  const [kind, words] = workerState();
  show(kind, words, state.summary);
  const badge = byId("open-count");
  setChildren(badge, whole(state.open));
  badge.setAttribute("aria-label", `${whole(state.open)} open`);
}

/** The kind of the worker's state, and the state in words. @returns {[string, string]} */
export function workerState() {
  if (state.log_problem) return ["bad", "The page cannot read the log"];
  if (state.partitions.length === 0) return ["warn", "No worker has reported yet"];
  if (state.stopped_at) return ["warn", `Worker stopped at ${clock(state.stopped_at)}`];
  if (state.partitions.some((/** @type {any} */ one) => one.stopped)) return ["warn", "A worker was stopped"];
  const youngest = Math.min(...state.partitions.map((/** @type {any} */ one) => one.age_seconds));
  if (!state.healthy) return ["warn", `Worker silent for ${duration(youngest)}`];
  return ["good", "Worker running"];
}

/** @param {string} kind @param {string} words @param {string} summary */
function show(kind, words, summary) {
  const strip = byId("health");
  strip.dataset.state = kind;
  strip.title = summary;
  setChildren(byId("health-words"), words);
  setChildren(byId("health-numbers"), state === null || kind === "bad" ? "" : numbers());
}

function numbers() {
  const { events, left, lag, dead } = totals();
  const parts = [`${short(events)} events`];
  if (left !== null) parts.push(`${short(left)} labels left`);
  parts.push(formatLag(lag));
  if (dead > 0) parts.push(count(dead, "dead letter"));
  return parts.join(" · ");
}

/** @param {number | null} lag */
export function formatLag(lag) {
  return lag === null ? "lag unknown" : lag === 0 ? "no lag" : `lag ${short(lag)}`;
}

/** Totals over all partitions; `left` is null without a limit, `lag` is null if it is unknown. */
export function totals() {
  const parts = state?.partitions ?? [];
  const sum = (/** @type {string} */ name) => parts.reduce((/** @type {number} */ all, /** @type {any} */ one) => all + one[name], 0);
  const limited = parts.length > 0 && parts.every((/** @type {any} */ one) => one.labels_remaining !== null);
  const lagKnown = parts.every((/** @type {any} */ one) => one.lag !== null);
  return { events: sum("events"), lag: lagKnown ? sum("lag") : null, dead: sum("dead_letters"), left: limited ? sum("labels_remaining") : null };
}
