// @ts-check
// A chart with caption, tooltip for pointer and arrow keys, and its values as a table.

import { h, s, setChildren } from "../core/dom.js";

const MAX_ROWS = 200;

/** @typedef {{x: number, y: number, lines: string[]}} TooltipPoint a position of the tooltip */
/** @typedef {{head: string[], rows: string[][]}} Table */
/** @typedef {{nodes: (Node | null)[], tooltipPoints: TooltipPoint[], top: number, bottom: number}} Drawing */
/** @typedef {{points: number, last: string | number | null, table: Table, words: string, note?: string, draw: (width: number, height: number) => Drawing}} Content */

export class Chart {
  /** @param {{id: string, title: string, caption: string, height: number, wide?: boolean, legend?: [string, string][]}} options */
  constructor({ id, title, caption, height, wide = false, legend = [] }) {
    this.height = height;
    this.title = title;
    /** @type {Content | null} */
    this.content = null;
    /** @type {TooltipPoint[]} */
    this.tooltipPoints = [];
    this.at = -1;
    /** @type {SVGElement | null} */
    this.cursor = null;
    this.svg = s("svg", { class: "plot-svg", "aria-hidden": "true" });
    this.tip = h("div", { class: "tip", role: "status", hidden: true });
    this.empty = h("p", { class: "plot-empty" }, "Loading …");
    this.plot = h("div", { class: "plot", tabindex: "0", role: "group", "aria-label": title }, this.svg, this.empty, this.tip);
    this.plot.style.height = `${height}px`;
    this.heading = h("h2", {}, title);
    this.caption = h("p", { class: "soft" }, caption);
    this.note = h("p", { class: "chart-note" });
    this.tableBody = h("div", { class: "plot-table" });
    this.details = h("details", {}, h("summary", {}, "As a table"), this.tableBody);
    const keys = legend.map(([kind, word]) => h("li", {}, h("span", { class: `swatch ${kind}`, "aria-hidden": "true" }), word));
    this.node = h(
      "figure",
      { id, class: wide ? "card chart wide" : "card chart", "data-points": "0" },
      h("figcaption", {}, this.heading, this.caption, this.note),
      keys.length ? h("ul", { class: "legend" }, ...keys) : null,
      this.plot,
      this.details,
    );
    this.listen();
  }

  listen() {
    new ResizeObserver(() => this.redraw()).observe(this.plot);
    this.details.addEventListener("toggle", () => this.tabulate());
    this.plot.addEventListener("pointermove", (event) => this.onPointer(event));
    this.plot.addEventListener("pointerleave", () => document.activeElement !== this.plot && this.showTooltip(-1));
    this.plot.addEventListener("focus", () => this.plot.matches(":focus-visible") && this.showTooltip(this.tooltipPoints.length - 1));
    this.plot.addEventListener("blur", () => this.showTooltip(-1));
    this.plot.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** @param {string} title @param {string} caption */
  rename(title, caption) {
    this.title = title;
    setChildren(this.heading, title);
    setChildren(this.caption, caption);
  }

  /** @param {Content} content */
  show(content) {
    this.content = content;
    this.node.dataset.points = String(content.points);
    this.node.dataset.last = content.last === null ? "" : String(content.last);
    this.plot.setAttribute("aria-label", `${this.title}. ${content.words} Arrow keys read the values.`);
    setChildren(this.note, content.note ?? "");
    this.empty.hidden = true;
    this.redraw();
    this.tabulate();
  }

  /** @param {string} words */
  showEmpty(words) {
    this.content = null;
    this.node.dataset.points = "0";
    this.node.dataset.last = "";
    this.plot.setAttribute("aria-label", `${this.title}. ${words}`);
    setChildren(this.svg);
    setChildren(this.note);
    this.tooltipPoints = [];
    this.showTooltip(-1);
    setChildren(this.empty, words);
    this.empty.hidden = false;
    setChildren(this.tableBody);
  }

  redraw() {
    const width = this.plot.clientWidth;
    if (this.content === null || width === 0) return;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    const drawing = this.content.draw(width, this.height);
    this.tooltipPoints = drawing.tooltipPoints;
    this.cursor = s("line", { class: "cursor", y1: drawing.top, y2: drawing.bottom, visibility: "hidden" });
    setChildren(this.svg, ...drawing.nodes, this.cursor);
    if (this.at >= 0) this.showTooltip(Math.min(this.at, this.tooltipPoints.length - 1));
  }

  tabulate() {
    if (!this.details.open || this.content === null) return;
    const { head, rows } = this.content.table;
    const every = Math.ceil(rows.length / MAX_ROWS);
    const kept = rows.filter((_, index) => (rows.length - 1 - index) % every === 0);
    const row = (/** @type {string[]} */ cells) => h("tr", {}, ...cells.map((cell) => h("td", {}, cell)));
    const heads = head.map((text) => h("th", { scope: "col" }, text));
    setChildren(this.tableBody, h("table", { class: "list" }, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...kept.map(row))));
    this.tableBody.tabIndex = 0;
    this.tableBody.setAttribute("role", "region");
    this.tableBody.setAttribute("aria-label", `${this.title} as a table`);
  }

  /** @param {PointerEvent} event */
  onPointer(event) {
    const x = event.clientX - this.plot.getBoundingClientRect().left;
    let best = -1;
    this.tooltipPoints.forEach((point, index) => {
      if (best < 0 || Math.abs(point.x - x) < Math.abs(this.tooltipPoints[best].x - x)) best = index;
    });
    this.showTooltip(best);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const last = this.tooltipPoints.length - 1;
    const to = { ArrowLeft: (this.at < 0 ? last + 1 : this.at) - 1, ArrowRight: this.at + 1, Home: 0, End: last, Escape: -1 }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.showTooltip(event.key === "Escape" ? -1 : Math.max(0, Math.min(last, to)));
  }

  /** @param {number} index */
  showTooltip(index) {
    this.at = index;
    const point = this.tooltipPoints[index];
    this.tip.hidden = point === undefined;
    this.cursor?.setAttribute("visibility", point === undefined ? "hidden" : "visible");
    if (point === undefined) return;
    this.cursor?.setAttribute("x1", String(point.x));
    this.cursor?.setAttribute("x2", String(point.x));
    setChildren(this.tip, ...point.lines.map((text) => h("div", {}, text)));
    const width = this.plot.clientWidth;
    const left = point.x > width / 2 ? point.x - this.tip.offsetWidth - 12 : point.x + 12;
    this.tip.style.left = `${Math.max(0, Math.min(width - this.tip.offsetWidth, left))}px`;
    this.tip.style.top = `${Math.max(0, Math.min(this.height - this.tip.offsetHeight, point.y - 20))}px`;
  }
}
