// @ts-check
// The view of the charts: fetched when something changed and somebody looks, at most once a second.

import { Problem, api, known } from "../core/api.js";
import { on, seldom } from "../core/bus.js";
import { histogram, reliability, total } from "./bars.js";
import { learning, pace, rates } from "./curves.js";
import { put, the } from "../core/dom.js";
import { Chart } from "./figure.js";
import { partitionsPanel } from "./partitions.js";
import { Posterior } from "./posterior.js";
import { vitals } from "./vitals.js";
import { clock, count, figure, labelWord, percent, probability, whole } from "../core/words.js";

const PAUSE = 1000;
const STATES = ["open", "answered", "closed"];

export class Charts {
  constructor() {
    this.shown = false;
    this.all = makeCharts();
    const posterior = new Posterior();
    const nodes = [vitals(), ...Object.values(this.all).map((chart) => chart.node), posterior.node, partitionsPanel()];
    put(the("chart-grid"), ...nodes);
    this.again = seldom(PAUSE, () => this.shown && !document.hidden && this.look());
    on("change", this.again);
    on("back", this.again);
    document.addEventListener("visibilitychange", this.again);
  }

  /** @param {boolean} shown */
  visible(shown) {
    this.shown = shown;
    if (shown) this.again();
  }

  async look() {
    let data;
    try {
      data = await api.get("api/charts");
    } catch (error) {
      if (error instanceof Problem) put(the("charts-at"), `Not up to date: ${error.message}`);
      return;
    }
    put(the("charts-at"), `Live; as of ${clock(data.at)}.`);
    const { curve, calibration, budget, speed, probabilities, scores } = this.all;
    learning(curve, data.curve);
    if (predictsNumbers(data)) forLabels(calibration, "calibration compares the probabilities of labels with what came true");
    else showCalibration(calibration, data);
    pace(budget, data);
    rates(speed, data.rates);
    if (predictsNumbers(data)) forLabels(probabilities, "probabilities are there for labels only");
    else showHistogram(probabilities, data);
    showScores(scores, data.scores);
  }
}

/** @param {any} data */
function predictsNumbers(data) {
  return known()?.numbers ?? data.curve.some((/** @type {any} */ point) => (point.error ?? null) !== null);
}

/** @param {Chart} chart @param {string} words */
function forLabels(chart, words) {
  chart.showEmpty(`This learner predicts numbers: ${words}.`);
}

function makeCharts() {
  return {
    curve: new Chart({
      id: "chart-curve",
      title: "Learning curve",
      caption: "How wrong the predictions were, each made before its label was known. Lower is better. Only what is labelled counts: where all labels are answers to questions, these are the hard ones, and the filter is better than this.",
      height: 420,
      wide: true,
    }),
    calibration: new Chart({
      id: "chart-calibration",
      title: "Calibration",
      caption: "Of the predictions in each tenth: what was said, and what came true. On the diagonal both are the same.",
      height: 300,
    }),
    budget: new Chart({
      id: "chart-budget",
      title: "Label budget",
      caption: "Questions asked so far, against the pace that the budget allows.",
      height: 300,
      legend: [["l1", "asked"], ["l2", "planned"]],
    }),
    speed: new Chart({ id: "chart-rates", title: "Throughput and lag", caption: "Events taken in a second, and events that waited.", height: 300 }),
    probabilities: new Chart({ id: "chart-histogram", title: "Probabilities", caption: "What the newest predictions said.", height: 300 }),
    scores: new Chart({
      id: "chart-scores",
      title: "Questions by what they are worth",
      caption: "The score of each question that was asked, and what became of it.",
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
  const of = label ? ` of ${labelWord(label)}` : "";
  const sum = points.reduce((/** @type {number} */ all, /** @type {any} */ point) => all + point.count, 0);
  chart.show({
    points: points.length,
    last: sum,
    words: `${count(sum, "prediction")} in ${count(points.length, "group")}.`,
    table: {
      head: [`Said${of}`, "Came true", "Predictions"],
      rows: points.map((/** @type {any} */ point) => [probability(point.said), probability(point.observed), whole(point.count)]),
    },
    draw: reliability(points, `said, probability${of}`, "came true"),
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
  const note = wrong === null ? "" : `By its own probabilities the filter expects ${percent(wrong)} of these guesses to be wrong.`;
  showBins(chart, bins, names, { kinds, words, note, xTitle: label ? `probability of ${labelWord(label)}` : "probability", yTitle: words });
}

/** @param {Chart} chart @param {any[]} bins */
function showScores(chart, bins) {
  if (bins.length === 0) {
    chart.showEmpty("No questions have been asked yet.");
    return;
  }
  showBins(chart, bins, STATES, { kinds: ["b4", "b2", "b3"], words: "", xTitle: "score: what the answer is worth", yTitle: "questions" });
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
