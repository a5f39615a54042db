// @ts-check
// A row above the charts with the status of the worker.

import { h, setChildren } from "../core/dom.js";
import { formatLag, onHealth, totals, workerState } from "../core/health.js";
import { count, duration, percent, whole } from "../core/format.js";

export function workerStatus() {
  const list = h("dl", { class: "worker-status" });
  onHealth((state) => setChildren(list, ...rows(state)));
  return h("section", { class: "card wide", id: "worker-status", "aria-label": "Status of the worker" }, list);
}

/** @param {any} state */
function rows(state) {
  const { lag, dead } = totals();
  const [kind, words] = workerState();
  const command = dead > 0 ? "stream-bayes dead-letters list" : "";
  return [
    row("worker", "Worker", kind === "good" ? "running" : words, state.summary, kind),
    row("lag", "Lag", lag === null ? "unknown" : lag === 0 ? "none" : formatLag(lag).replace("lag ", "") + ""),
    row("dead", "Dead letters", dead === 0 ? "none" : `${whole(dead)}: could not be used`, command, dead === 0 ? "" : "warn"),
    row("audit", "Accuracy by the audit", auditText(state.partitions)),
    row("checkpoint", "Checkpoint", checkpointAge(state.partitions)),
  ];
}

/** @param {string} name @param {string} title @param {string} words @param {string} [more] @param {string} [kind] */
function row(name, title, words, more = "", kind = "") {
  return h("div", { "data-status": name, "data-state": kind, title: more || null }, h("dt", {}, title), h("dd", {}, words));
}

/** The audit over all partitions; their errors are those of independent samples. @param {any[]} partitions */
function auditText(partitions) {
  const audits = partitions.map((one) => one.audit).filter((audit) => audit !== null && audit.answers > 0);
  const answers = audits.reduce((all, audit) => all + audit.answers, 0);
  if (answers === 0) return "unknown: no label request was drawn at random yet";
  const mean = (/** @type {(audit: any) => number} */ value) => audits.reduce((all, audit) => all + value(audit) * audit.answers, 0) / answers;
  const middle = mean((audit) => audit.accuracy);
  const far = (/** @type {"low" | "high"} */ end) =>
    Math.sqrt(audits.reduce((all, audit) => all + ((audit[end] - audit.accuracy) * (audit.answers / answers)) ** 2, 0));
  return `${percent(middle)} (95 % between ${percent(Math.max(0, middle - far("low")))} and ${percent(Math.min(1, middle + far("high")))}, ${count(answers, "answer")})`;
}

/** @param {any[]} partitions */
function checkpointAge(partitions) {
  const ages = partitions.map((one) => one.checkpoint_age_seconds);
  if (ages.length === 0 || ages.every((age) => age === null)) return "none yet";
  if (ages.some((age) => age === null)) return `none yet of ${count(ages.filter((age) => age === null).length, "partition")}`;
  return `${duration(Math.max(...ages))} old`;
}
