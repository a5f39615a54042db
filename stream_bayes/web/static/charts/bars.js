// @ts-check
// Histograms with stacked bars, and the reliability diagram.

import { s } from "../core/dom.js";
import { axes, bar, line, note } from "./plot.js";
import { fromZero, linear } from "./scales.js";
import { figure, probability, short, whole } from "../core/format.js";

/** @typedef {import("./chart.js").Drawing} Drawing */
/** @typedef {{low: number, high: number, counts: Record<string, number>}} Bin */

const LEFT = 52;
const RIGHT = 14;
const HEAD = 22;
const FOOT = 42;
const GAP = 1;

/** @param {Bin} bin */
export function total(bin) {
  return Object.values(bin.counts).reduce((sum, count) => sum + count, 0);
}

/**
 * @param {{bins: Bin[], names: string[], kinds: string[], xTitle: string, yTitle: string}} plan
 * @returns {(width: number, height: number) => Drawing}
 */
export function histogram({ bins, names, kinds, xTitle, yTitle }) {
  return (width, height) => {
    const box = { left: LEFT, top: HEAD, width: width - LEFT - RIGHT, height: height - HEAD - FOOT };
    const x = linear([bins[0].low, bins[bins.length - 1].high], [LEFT, width - RIGHT]);
    const y = linear(fromZero(bins.map(total)), [HEAD + box.height, HEAD]);
    const bars = bins.flatMap((bin) => stack(bin, names, kinds, x, y));
    const ground = axes(box, { x, y, xFormat: figure, yFormat: short, xTitle, title: yTitle, whole: true });
    const tooltipPoints = bins.map((bin) => ({ x: (x(bin.low) + x(bin.high)) / 2, y: y(total(bin)), lines: binLines(bin, names) }));
    return { nodes: [ground, ...bars], tooltipPoints, top: HEAD, bottom: HEAD + box.height };
  };
}

/** @param {Bin} bin @param {string[]} names @param {string[]} kinds @param {import("./scales.js").Scale} x @param {import("./scales.js").Scale} y */
function stack(bin, names, kinds, x, y) {
  let under = 0;
  return names.flatMap((name, number) => {
    const count = bin.counts[name] ?? 0;
    if (count === 0) return [];
    const top = y(under + count);
    const rect = bar(x(bin.low) + GAP, top, x(bin.high) - x(bin.low) - 2 * GAP, y(under) - top, kinds[number]);
    under += count;
    return [rect];
  });
}

/** @param {Bin} bin @param {string[]} names */
function binLines(bin, names) {
  const range = `${figure(bin.low)} to ${figure(bin.high)}`;
  if (names.length === 1) return [range, whole(total(bin))];
  return [range, ...names.map((name) => `${name}: ${whole(bin.counts[name] ?? 0)}`)];
}

/**
 * @param {{predicted: number, observed: number, count: number}[]} points @param {string} xTitle @param {string} title
 * @returns {(width: number, height: number) => Drawing}
 */
export function reliability(points, xTitle, title) {
  return (width, height) => {
    const box = { left: LEFT, top: HEAD, width: width - LEFT - RIGHT, height: height - HEAD - FOOT };
    const x = linear([0, 1], [LEFT, width - RIGHT]);
    const y = linear([0, 1], [HEAD + box.height, HEAD]);
    const most = Math.max(...points.map((point) => point.count));
    const places = points.map((point) => /** @type {[number, number]} */ ([x(point.predicted), y(point.observed)]));
    const dots = points.flatMap((point, index) => dot(point, places[index], most, box));
    const diagonal = line([[x(0), y(0)], [x(1), y(1)]], "diagonal");
    const ground = axes(box, { x, y, xFormat: figure, yFormat: figure, xTitle, title, xTicks: 5, yTicks: 5 });
    const tooltipPoints = points.map((point, index) => ({
      x: places[index][0],
      y: places[index][1],
      lines: [`predicted ${probability(point.predicted)}`, `observed ${probability(point.observed)}`, `${whole(point.count)} predictions`],
    }));
    return { nodes: [ground, diagonal, line(places, "thin"), ...dots], tooltipPoints, top: HEAD, bottom: HEAD + box.height };
  };
}

/** @param {{count: number}} point @param {[number, number]} place @param {number} most @param {import("./plot.js").Box} box */
function dot(point, [cx, cy], most, box) {
  const radius = 3 + 9 * Math.sqrt(point.count / most);
  // The label is placed where it overlaps neither the frame nor the diagonal.
  const above = cy - radius - 5 > box.top + 8;
  const edge = cx > box.left + box.width - 24 ? "end" : cx < box.left + 24 ? "start" : "middle";
  return [
    s("circle", { class: "bubble", cx, cy, r: radius }),
    note(cx, above ? cy - radius - 5 : cy + radius + 13, short(point.count), edge),
  ];
}
