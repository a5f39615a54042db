// @ts-check
// The view of the charts: fetched after a change while the view is visible, at most once a second.

import { Problem, api, currentSession } from "../core/api.js";
import { on, throttle } from "../core/event_bus.js";
import { histogram, reliability, total } from "./bars.js";
import { drawBudget, drawLearningCurve, drawThroughput } from "./curves.js";
import { byId, setChildren } from "../core/dom.js";
import { Chart } from "./chart.js";
import { partitionsPanel } from "./partitions.js";
import { Posterior } from "./posterior.js";
import { workerStatus } from "./worker_status.js";
import { clock, count, figure, labelText, percent, probability, whole } from "../core/format.js";

const PAUSE = 1000;
const STATES = ["open", "answered", "closed"];

export class Charts {
  constructor() {
    this.shown = false;
    this.all = makeCharts();
    const posterior = new Posterior();
    const nodes = [workerStatus(), ...Object.values(this.all).map((chart) => chart.node), posterior.node, partitionsPanel()];
    setChildren(byId("chart-grid"), ...nodes);
    this.refresh = throttle(PAUSE, () => this.shown && !document.hidden && this.fetchCharts());
    on("change", this.refresh);
    on("online", this.refresh);
    document.addEventListener("visibilitychange", this.refresh);
  }

  /** @param {boolean} shown */
  visible(shown) {
    this.shown = shown;
    if (shown) this.refresh();
  }

  async fetchCharts() {
    let data;
    try {
      data = await api.get("api/charts");
    } catch (error) {
      if (error instanceof Problem) setChildren(byId("charts-at"), `Not up to date: ${error.message}`);
      return;
    }
    setChildren(byId("charts-at"), `Live; as of ${clock(data.at)}.`);
    const { curve, calibration, budget, speed, probabilities, scores } = this.all;
    drawLearningCurve(curve, data.curve);
    if (predictsNumbers(data)) showLabelsOnly(calibration, "calibration compares the probabilities of labels with observed frequencies");
    else showCalibration(calibration, data);
    drawBudget(budget, data);
    drawThroughput(speed, data.rates);
    if (predictsNumbers(data)) showLabelsOnly(probabilities, "only labels have probabilities");
    else showHistogram(probabilities, data);
    showScores(scores, data.scores);
  }
}

/** @param {any} data */
function predictsNumbers(data) {
  return currentSession()?.numbers ?? data.curve.some((/** @type {any} */ point) => (point.error ?? null) !== null);
}

/** @param {Chart} chart @param {string} words */
function showLabelsOnly(chart, words) {
  chart.showEmpty(`This learner predicts numbers: ${words}.`);
}

function makeCharts() {
  return {
    curve: new Chart({
      id: "chart-curve",
      title: "Learning curve",
      caption: "The error of the predictions, each made before its label was known. Lower is better. Only labelled observations count: if all labels were requested, these are the hard ones, and the filter is better than the curve.",
      height: 420,
      wide: true,
    }),
    calibration: new Chart({
      id: "chart-calibration",
      title: "Calibration",
      caption: "The mean predicted probability and the observed frequency, for each tenth of the probabilities. On the diagonal both are equal.",
      height: 300,
    }),
    budget: new Chart({
      id: "chart-budget",
      title: "Label budget",
      caption: "Labels requested so far, and the number planned by the budget.",
      height: 300,
      legend: [["l1", "requested"], ["l2", "planned"]],
    }),
    speed: new Chart({ id: "chart-rates", title: "Throughput and lag", caption: "Processed events per second, and the lag.", height: 300 }),
    probabilities: new Chart({ id: "chart-histogram", title: "Probabilities", caption: "The probabilities of the newest predictions.", height: 300 }),
    scores: new Chart({
      id: "chart-scores",
      title: "Label requests by score",
      caption: "The score of each label request, and its outcome.",
      height: 300,
      legend: [["b4", "open"], ["b2", "answered"], ["b3", "closed without an answer"]],
    }),
  };
}

/** @param {Chart} chart @param {any} data */
function showCalibration(chart, { calibration: points, calibration_label: label }) {
  if (points.length === 0) {
    chart.showEmpty("Nothing to compare yet: it needs labels of predictions.");
    return;
  }
  const of = label ? ` of ${labelText(label)}` : "";
  const sum = points.reduce((/** @type {number} */ all, /** @type {any} */ point) => all + point.count, 0);
  chart.show({
    points: points.length,
    last: sum,
    words: `${count(sum, "prediction")} in ${count(points.length, "group")}.`,
    table: {
      head: [`Predicted${of}`, "Observed", "Predictions"],
      rows: points.map((/** @type {any} */ point) => [probability(point.predicted), probability(point.observed), whole(point.count)]),
    },
    draw: reliability(points, `predicted probability${of}`, "observed frequency"),
  });
}

/** @param {Chart} chart @param {any} data */
function showHistogram(chart, { histogram: bins, histogram_of: of, histogram_label: label, expected_error: wrong }) {
  if (bins.length === 0 || of === 0) {
    chart.showEmpty("No predictions yet. They come as soon as the worker reads events.");
    return;
  }
  const names = [...new Set(bins.flatMap((/** @type {any} */ bin) => Object.keys(bin.counts)))];
  const kinds = names.map((_, index) => `b${(index % 3) + 1}`);
  const words = `of the newest ${count(of, "prediction")}`;
  const note = wrong === null ? "" : `By its own probabilities the filter expects ${percent(wrong)} of these predictions to be wrong.`;
  showBins(chart, bins, names, { kinds, words, note, xTitle: label ? `probability of ${labelText(label)}` : "probability", yTitle: words });
}

/** @param {Chart} chart @param {any[]} bins */
function showScores(chart, bins) {
  if (bins.length === 0) {
    chart.showEmpty("No labels have been requested yet.");
    return;
  }
  showBins(chart, bins, STATES, { kinds: ["b4", "b2", "b3"], words: "", xTitle: "score", yTitle: "label requests" });
}

/** @param {Chart} chart @param {any[]} bins @param {string[]} names @param {{kinds: string[], words: string, xTitle: string, yTitle: string, note?: string}} how */
function showBins(chart, bins, names, { kinds, words, note, xTitle, yTitle }) {
  const sum = bins.reduce((all, bin) => all + total(bin), 0);
  chart.show({
    points: bins.length,
    last: sum,
    words: `${whole(sum)} ${words || yTitle}.${note ? ` ${note}` : ""}`,
    note,
    table: {
      head: ["From", "To", ...names],
      rows: bins.map((bin) => [figure(bin.low), figure(bin.high), ...names.map((name) => whole(bin.counts[name] ?? 0))]),
    },
    draw: histogram({ bins, names, kinds, xTitle, yTitle }),
  });
}
