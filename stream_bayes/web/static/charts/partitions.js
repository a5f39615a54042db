// @ts-check
// The newest status of each partition.

import { h, setChildren } from "../core/dom.js";
import { onHealth } from "../core/health.js";
import { count, duration, figure, whole } from "../core/format.js";

/** @type {[string, (one: any) => string][]} */
const COLUMNS = [
  ["Partition", (one) => String(one.partition)],
  ["Last status", (one) => `${duration(one.age_seconds)} ago`],
  ["Events", (one) => whole(one.events)],
  ["Labels learned", (one) => whole(one.labels_learned)],
  ["Labels left", (one) => (one.labels_remaining === null ? "no limit" : whole(one.labels_remaining))],
  ["Open", (one) => whole(one.open_requests)],
  ["Lag", (one) => (one.lag === null ? "unknown" : whole(one.lag))],
  ["Dead letters", (one) => whole(one.dead_letters)],
  ["Accuracy of labelled observations", (one) => (one.accuracy === null ? "–" : figure(one.accuracy))],
  ["Accuracy by the audit", (one) => auditText(one.audit)],
  ["Checkpoint", (one) => (one.checkpoint_age_seconds === null ? "none" : `${duration(one.checkpoint_age_seconds)} old`)],
];

/** @param {any} audit */
function auditText(audit) {
  if (audit === null) return "–";
  return `${figure(audit.accuracy)} (${figure(audit.low)} to ${figure(audit.high)}, ${count(audit.answers, "answer")})`;
}

/** A row; each cell carries the name of its column, for narrow screens. @param {any} one */
function row(one) {
  return h("tr", {}, ...COLUMNS.map(([name, text]) => h("td", { "data-name": name }, text(one))));
}

export function partitionsPanel() {
  const summary = h("p", { class: "soft", id: "state-summary" }, "Loading …");
  const body = h("tbody");
  const head = h("tr", {}, ...COLUMNS.map(([name]) => h("th", { scope: "col" }, name)));
  const table = h("table", { class: "list stacked" }, h("thead", {}, head), body);
  const frame = h("div", { class: "plot-table", tabindex: "0", role: "region", "aria-label": "Partitions, as a table" }, table);
  onHealth((state) => {
    setChildren(summary, state.summary);
    setChildren(body, ...state.partitions.map((/** @type {any} */ one) => row(one)));
  });
  const title = h("h2", { id: "partitions-title" }, "The worker");
  return h("section", { class: "card wide", id: "partitions", "aria-labelledby": "partitions-title" }, title, summary, frame);
}
