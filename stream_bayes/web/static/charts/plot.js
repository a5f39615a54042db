// @ts-check
// Marks and axes of a panel in SVG. All styles are classes.

import { s } from "../core/dom.js";

/** @typedef {import("./scales.js").Scale} Scale */
/** @typedef {{left: number, top: number, width: number, height: number}} Box */
/** @typedef {(value: number) => string} Format */
/**
 * @typedef {{x: Scale, y: Scale, xFormat?: Format | null, yFormat: Format, xTitle?: string, title?: string,
 *   xTicks?: number, yTicks?: number, whole?: boolean, xWhole?: boolean}} Axes where `whole` leaves out ticks between whole numbers
 */

/**
 * Gridlines and tick labels.
 * @param {Box} box
 * @param {Axes} options
 */
export function axes(box, { x, y, xFormat, yFormat, xTitle, title, xTicks, yTicks, whole = false, xWhole = false }) {
  const parts = [];
  const isNew = firstTime();
  const right = box.left + box.width;
  const bottom = box.top + box.height;
  for (const value of y.ticks(yTicks ?? Math.max(3, Math.round(box.height / 36)))) {
    if ((whole && !Number.isInteger(value)) || !isNew(yFormat(value))) continue;
    const at = pixelCenter(y(value));
    parts.push(s("line", { class: "grid", x1: box.left, x2: right, y1: at, y2: at }));
    parts.push(s("text", { class: "tick", x: box.left - 8, y: at, dy: "0.32em", "text-anchor": "end" }, yFormat(value)));
  }
  parts.push(s("line", { class: "base", x1: box.left, x2: right, y1: pixelCenter(bottom), y2: pixelCenter(bottom) }));
  if (xFormat) {
    const isNewX = firstTime();
    for (const value of x.ticks(xTicks ?? Math.max(3, Math.round(box.width / 85)))) {
      if ((xWhole && !Number.isInteger(value)) || !isNewX(xFormat(value))) continue;
      const at = pixelCenter(x(value));
      parts.push(s("line", { class: "base", x1: at, x2: at, y1: bottom, y2: bottom + 5 }));
      parts.push(s("text", { class: "tick", x: at, y: bottom + 18, "text-anchor": anchor(at, box) }, xFormat(value)));
    }
  }
  if (xTitle) parts.push(s("text", { class: "axis-title", x: right, y: bottom + 35, "text-anchor": "end" }, xTitle));
  if (title) parts.push(s("text", { class: "panel-title", x: box.left, y: box.top - 9 }, title));
  return s("g", {}, ...parts);
}

/** Returns a function that is true for each text once: of two equal tick labels one would be wrong. */
function firstTime() {
  /** @type {Set<string>} */
  const written = new Set();
  return (/** @type {string} */ text) => text === "" || (!written.has(text) && written.add(text) !== undefined);
}

/** The text anchor that keeps a tick label inside the plot. @param {number} at @param {Box} box */
function anchor(at, box) {
  return at > box.left + box.width - 12 ? "end" : "middle";
}

/** @param {number} value */
function pixelCenter(value) {
  return Math.round(value) + 0.5;
}

/** @param {[number, number][]} points */
function path(points) {
  return points.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** @param {[number, number][]} points @param {string} kind */
export function line(points, kind) {
  if (points.length === 1) return s("circle", { class: `dot-mark ${kind}`, cx: points[0][0], cy: points[0][1], r: 4 });
  return s("path", { class: `line ${kind}`, d: path(points) });
}

/** @param {[number, number][]} points @param {number} bottom @param {string} kind */
export function area(points, bottom, kind) {
  if (points.length < 2) return null;
  /** @type {[number, number][]} */
  const closed = [[points[0][0], bottom], ...points, [points[points.length - 1][0], bottom]];
  return s("path", { class: `area ${kind}`, d: `${path(closed)}Z` });
}

/** @param {number} x @param {number} y @param {number} width @param {number} height @param {string} kind */
export function bar(x, y, width, height, kind) {
  return s("rect", { class: `bar-mark ${kind}`, x, y, width: Math.max(0.5, width), height: Math.max(0, height) });
}

/** @param {number} x @param {number} y @param {string} text @param {string} [textAnchor] */
export function note(x, y, text, textAnchor = "middle") {
  return s("text", { class: "note-mark", x, y, "text-anchor": textAnchor }, text);
}
