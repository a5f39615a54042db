// @ts-check
// The charts over events and over time: learning curve, label budget, throughput.

import { panels } from "./lines.js";
import { clock, count, date, figure, short, whole } from "../core/format.js";

/** @typedef {import("./chart.js").Chart} Chart */

/** @type {[string, string][]} */
const MEASURES = [
  ["roca", "(1-ROCA) %"],
  ["log_loss", "Log loss"],
  ["recent_log_loss", "Recent log loss"],
  ["accuracy", "Accuracy"],
  ["error", "Error"],
];

/** @param {number | null | undefined} value */
const orDash = (value) => (value === null || value === undefined ? "–" : figure(value));

/** @param {Chart} chart @param {any[]} curve */
export function drawLearningCurve(chart, curve) {
  if (curve.length === 0) {
    chart.showEmpty("Nothing learned yet. The curve begins with the first status of the worker: stream-bayes run.");
    return;
  }
  const column = (/** @type {string} */ name) => curve.map((point) => point[name] ?? null);
  const any = (/** @type {string} */ name) => curve.some((point) => point[name] !== null && point[name] !== undefined);
  const quality = any("error") && !any("roca") && !any("log_loss") ? [errorPanel(column)] : labelPanels(column, any);
  const last = curve[curve.length - 1];
  const known = MEASURES.filter(([name]) => any(name));
  const byLabels = sameEvents(curve);
  chart.show({
    points: curve.length,
    last: last.labels,
    words: `After ${count(last.events, "event")} and ${count(last.labels, "label")}: ${metricsText(last)}.`,
    table: {
      head: ["Events", "Labels", ...known.map(([, name]) => name)],
      rows: curve.map((point) => [whole(point.events), whole(point.labels), ...known.map(([name]) => orDash(point[name]))]),
    },
    draw: panels({
      xs: curve.map((point) => point[byLabels ? "labels" : "events"]),
      xFormat: short,
      xTitle: byLabels ? `labels (all at ${count(last.events, "event")})` : "events",
      panels: [...quality, { title: "labels used", series: [{ kind: "l3", values: column("labels"), filled: true }], format: short, whole: true }],
      lines: (index) => curveLines(curve[index]),
    }),
  });
}

/** Whether all points have the same number of events, so that the abscissa must be the labels. @param {any[]} points */
function sameEvents(points) {
  return points.length > 1 && points.every((point) => point.events === points[0].events);
}

/** @param {any} point */
function metricsText(point) {
  if (point.error !== null && point.error !== undefined) return `error ${figure(point.error)}`;
  return `(1-ROCA) ${orDash(point.roca)} %, log loss ${orDash(point.log_loss)}`;
}

/** @param {(name: string) => any[]} column */
function errorPanel(column) {
  return { title: "error, root mean squared", series: [{ kind: "l1", values: column("error") }], format: figure, mayBeLog: true };
}

/** @param {(name: string) => any[]} column @param {(name: string) => boolean} any */
function labelPanels(column, any) {
  const lines = [{ kind: "thin l2", values: column("recent_log_loss") }, { kind: "l2", values: column("log_loss") }];
  const loss = { title: "log loss: mean so far, and recent (thin)", series: lines, format: figure };
  const roca = { title: "(1-ROCA) %", series: [{ kind: "l1", values: column("roca") }], format: figure, mayBeLog: true };
  return any("roca") ? [roca, loss] : [loss];
}

/** @param {any} point */
function curveLines(point) {
  const lines = [`${whole(point.events)} events, ${whole(point.labels)} labels`];
  if (point.roca !== null) lines.push(`(1-ROCA) ${figure(point.roca)} %`);
  if (point.log_loss !== null) lines.push(`log loss ${figure(point.log_loss)}`);
  if (point.recent_log_loss !== null) lines.push(`recent ${figure(point.recent_log_loss)}`);
  if (point.error !== null && point.error !== undefined) lines.push(`error ${figure(point.error)}`);
  lines.push(date(point.at));
  return lines;
}

/** @param {any} point */
const planned = (point) => (point.planned === null ? "–" : whole(point.planned));

/** @param {Chart} chart @param {any} data */
export function drawBudget(chart, { budget, budget_total: all, budget_left: left, curve }) {
  if (budget.length === 0) {
    chart.showEmpty("No labels have been requested yet.");
    return;
  }
  const last = budget[budget.length - 1];
  const labelled = new Map(curve.map((/** @type {any} */ point) => [point.at, point.labels]));
  const labels = budget.map((/** @type {any} */ point) => labelled.get(point.at));
  const byLabels = sameEvents(budget) && labels.every((/** @type {number | undefined} */ one) => one !== undefined);
  const rest = left === null ? "no limit" : `${whole(left)} left${all === null ? "" : ` of ${whole(all)}`}`;
  chart.show({
    points: budget.length,
    last: last.requested,
    words: `${whole(last.requested)} requested, ${last.planned === null ? "nothing planned" : `${whole(last.planned)} planned`}, ${rest}.`,
    table: {
      head: ["Events", "Requested", "Planned"],
      rows: budget.map((/** @type {any} */ point) => [whole(point.events), whole(point.requested), planned(point)]),
    },
    draw: panels({
      xs: byLabels ? labels : budget.map((/** @type {any} */ point) => point.events),
      xFormat: short,
      xTitle: byLabels ? `labels (all at ${count(last.events, "event")})` : "events",
      panels: [
        {
          title: `label requests, ${rest}`,
          format: short,
          whole: true,
          series: [
            { kind: "l2 dashed", values: budget.map((/** @type {any} */ point) => point.planned) },
            { kind: "l1", values: budget.map((/** @type {any} */ point) => point.requested) },
          ],
        },
      ],
      lines: (index) => {
        const point = budget[index];
        return [`${whole(point.events)} events`, `requested ${whole(point.requested)}`, `planned ${planned(point)}`];
      },
    }),
  });
}

/** @param {any} point */
const waiting = (point) => (point.lag === null ? "–" : whole(point.lag));

/** @param {Chart} chart @param {any[]} points */
export function drawThroughput(chart, points) {
  if (points.length === 0) {
    chart.showEmpty("No rate yet: it needs two reports of the worker.");
    return;
  }
  const last = points[points.length - 1];
  chart.show({
    points: points.length,
    last: last.per_second,
    words: `${figure(last.per_second)} events a second, ${last.lag === null ? "unknown how many" : count(last.lag, "event")} waiting.`,
    table: { head: ["At", "Events a second", "Waiting"], rows: points.map((point) => [date(point.at), figure(point.per_second), waiting(point)]) },
    draw: panels({
      xs: points.map((point) => new Date(point.at).getTime()),
      time: true,
      xFormat: timeFormat(points),
      xTitle: "",
      panels: [
        { title: "events a second", series: [{ kind: "l1", values: points.map((point) => point.per_second), filled: true }], format: figure },
        { title: "waiting", series: [{ kind: "l2", values: points.map((point) => point.lag), filled: true }], format: short, whole: true },
      ],
      lines: (index) => [date(points[index].at), `${figure(points[index].per_second)} a second`, `${waiting(points[index])} waiting`],
    }),
  });
}

/** The format of times: seconds for a short range, days for a long one. @param {any[]} points */
function timeFormat(points) {
  const span = new Date(points[points.length - 1].at).getTime() - new Date(points[0].at).getTime();
  if (span > 2 * 86_400_000) return (/** @type {number} */ at) => new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" }).format(at);
  if (span > 300_000) return clock;
  return (/** @type {number} */ at) => new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(at);
}
