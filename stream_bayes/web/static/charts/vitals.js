// @ts-check
// A row over the charts: how the worker is doing, in words.

import { h, put } from "../core/dom.js";
import { lagWords, onHealth, totals, verdict } from "../core/health.js";
import { count, duration, percent, whole } from "../core/words.js";

export function vitals() {
  const list = h("dl", { class: "vitals" });
  onHealth((state) => put(list, ...rows(state)));
  return h("section", { class: "card wide", id: "vitals", "aria-label": "How the worker is doing" }, list);
}

/** @param {any} state */
function rows(state) {
  const { lag, dead } = totals();
  const [kind, words] = verdict();
  const ways = dead > 0 ? "stream-bayes dead-letters list" : "";
  return [
    row("worker", "Worker", kind === "good" ? "running" : words, state.summary, kind),
    row("lag", "Lag", lag === null ? "unknown" : lag === 0 ? "none" : lagWords(lag).replace("lag ", "") + " events wait"),
    row("dead", "Dead letters", dead === 0 ? "none" : `${whole(dead)}: could not be read`, ways, dead === 0 ? "" : "warn"),
    row("audit", "Accuracy by the audit", audited(state.partitions)),
    row("checkpoint", "Checkpoint", checkpoint(state.partitions)),
  ];
}

/** @param {string} name @param {string} title @param {string} words @param {string} [more] @param {string} [kind] */
function row(name, title, words, more = "", kind = "") {
  return h("div", { "data-vital": name, "data-state": kind, title: more || null }, h("dt", {}, title), h("dd", {}, words));
}

/** All partitions together: as wide as the errors of independent samples. @param {any[]} partitions */
function audited(partitions) {
  const audits = partitions.map((one) => one.audit).filter((audit) => audit !== null && audit.answers > 0);
  const answers = audits.reduce((all, audit) => all + audit.answers, 0);
  if (answers === 0) return "not known yet: no question was drawn by chance";
  const mean = (/** @type {(audit: any) => number} */ value) => audits.reduce((all, audit) => all + value(audit) * audit.answers, 0) / answers;
  const middle = mean((audit) => audit.accuracy);
  const far = (/** @type {"low" | "high"} */ end) =>
    Math.sqrt(audits.reduce((all, audit) => all + ((audit[end] - audit.accuracy) * (audit.answers / answers)) ** 2, 0));
  return `${percent(middle)} (95 % between ${percent(Math.max(0, middle - far("low")))} and ${percent(Math.min(1, middle + far("high")))}, ${count(answers, "answer")})`;
}

/** @param {any[]} partitions */
function checkpoint(partitions) {
  const ages = partitions.map((one) => one.checkpoint_age_seconds);
  if (ages.length === 0 || ages.every((age) => age === null)) return "none yet";
  if (ages.some((age) => age === null)) return `none yet of ${count(ages.filter((age) => age === null).length, "partition")}`;
  return `${duration(Math.max(...ages))} old`;
}
