// @ts-check
// Line charts in panels that share the abscissa.

import { area, axes, line } from "./plot.js";
import { extent, fromZero, linear, logDomain, logarithmic, temporal } from "./scales.js";

/** @typedef {import("./chart.js").Drawing} Drawing */
/** @typedef {{kind: string, values: (number | null)[], filled?: boolean}} Series */
/** @typedef {{title: string, series: Series[], format: (value: number) => string, mayBeLog?: boolean, whole?: boolean}} Panel */

const LEFT = 52;
const RIGHT = 14;
const HEAD = 26;
const FOOT = 42;
const MINUTE = 60_000;

/**
 * @param {{xs: number[], time?: boolean, xFormat: (value: number) => string, xTitle: string, panels: Panel[], lines: (index: number) => string[]}} plan
 * @returns {(width: number, height: number) => Drawing}
 */
export function panels(plan) {
  return (width, height) => {
    const count = plan.panels.length;
    const each = (height - FOOT) / count;
    const range = /** @type {[number, number]} */ ([LEFT, width - RIGHT]);
    const x = plan.time ? temporal(extent(plan.xs, MINUTE / 2), range) : linear(extent(plan.xs), range);
    const nodes = plan.panels.flatMap((panel, number) => {
      const box = { left: LEFT, top: number * each + HEAD, width: width - LEFT - RIGHT, height: each - HEAD - (number < count - 1 ? 6 : 0) };
      return drawPanel(panel, box, x, plan, number === count - 1);
    });
    const tooltipPoints = plan.xs.map((value, index) => ({ x: x(value), y: HEAD + 10, lines: plan.lines(index) }));
    return { nodes, tooltipPoints, top: HEAD, bottom: height - FOOT };
  };
}

/**
 * @param {Panel} panel @param {import("./plot.js").Box} box @param {import("./scales.js").Scale} x
 * @param {any} plan @param {boolean} last
 */
function drawPanel(panel, box, x, plan, last) {
  const values = /** @type {number[]} */ (panel.series.flatMap((series) => series.values).filter((value) => value !== null));
  const domain = panel.mayBeLog && values.length ? logDomain(values) : null;
  const range = /** @type {[number, number]} */ ([box.top + box.height, box.top]);
  const y = domain ? logarithmic(domain, range) : linear(fromZero(values), range);
  const ground = axes(box, {
    x,
    y,
    xFormat: last ? plan.xFormat : null,
    xTitle: last ? plan.xTitle : "",
    yFormat: panel.format,
    title: panel.title,
    whole: panel.whole,
    // Events and labels are whole numbers.
    xWhole: !plan.time,
  });
  return [ground, ...panel.series.flatMap((series) => drawSeries(series, plan.xs, x, y, box))];
}

/** @param {Series} series @param {number[]} xs @param {import("./scales.js").Scale} x @param {import("./scales.js").Scale} y @param {import("./plot.js").Box} box */
function drawSeries(series, xs, x, y, box) {
  /** @type {[number, number][][]} */
  const runs = [[]];
  series.values.forEach((value, index) => {
    if (value === null) runs.push([]);
    else runs[runs.length - 1].push([x(xs[index]), y(value)]);
  });
  const drawn = runs.filter((run) => run.length > 0);
  return drawn.flatMap((run) => [series.filled ? area(run, box.top + box.height, series.kind) : null, line(run, series.kind)]);
}
