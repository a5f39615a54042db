// @ts-check
// The posterior density of a chosen word, sender or host.

import { Problem, api, currentSession } from "../core/api.js";
import { on, throttle } from "../core/event_bus.js";
import { h, s, setChildren, visibleText } from "../core/dom.js";
import { Chart } from "./chart.js";
import { area, axes, line, note } from "./plot.js";
import { linear } from "./scales.js";
import { figure, whole } from "../core/format.js";

const KINDS = ["word", "sender", "host", "pair", "network", "field", "feature"];
const PAUSE = 3000;

export class Posterior {
  constructor() {
    this.chart = new Chart({
      id: "chart-posterior",
      title: "Posterior of a word",
      caption: "The posterior of one word, sender or host: where its true value may lie, and 95 % of it shaded.",
      height: 180,
    });
    this.kind = h("select", { id: "posterior-kind" });
    this.kind.addEventListener("change", () => this.updateTitle());
    const field = { id: "posterior-text", type: "text", maxlength: "200", autocomplete: "off", spellcheck: "false" };
    this.text = h("input", { ...field, placeholder: "for instance: free" });
    this.facts = h("p", { class: "posterior-facts", id: "posterior-facts", "aria-live": "polite" });
    const form = h(
      "form",
      { id: "posterior-form", class: "row" },
      h("div", {}, h("label", { for: "posterior-kind" }, "Kind"), this.kind),
      h("div", { class: "grow" }, h("label", { for: "posterior-text" }, "Text"), this.text),
      h("button", { type: "submit", class: "primary" }, "Show"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.query = { kind: this.kind.value, text: this.text.value.trim() };
      this.fetchPosterior();
    });
    this.chart.plot.before(form);
    this.chart.plot.after(this.facts);
    /** @type {{kind: string, text: string} | null} */
    this.query = null;
    this.showKinds();
    on("session", () => this.showKinds());
    on("change", throttle(PAUSE, () => currentSession()?.kinds?.length === 0 && this.charts()?.offsetParent && api.session().catch(() => undefined)));
    on("change", throttle(PAUSE, () => this.query !== null && this.node.offsetParent !== null && this.fetchPosterior()));
  }

  get node() {
    return this.chart.node;
  }

  charts() {
    return this.node.parentElement;
  }

  /** Shows the kinds of features that the learner has; without a model the chart is hidden. */
  showKinds() {
    const kinds = currentSession()?.kinds ?? KINDS;
    this.node.hidden = kinds.length === 0;
    const drawn = [...this.kind.options].map((option) => option.value);
    if (drawn.join() === kinds.join()) return;
    const before = this.kind.value;
    setChildren(this.kind, ...kinds.map((kind) => h("option", { value: kind }, kind)));
    if (this.query !== null && kinds.includes(before)) this.kind.value = before;
    this.updateTitle();
  }

  updateTitle() {
    const kind = this.kind.value || "word";
    this.text.placeholder = kind === "word" ? "for instance: free" : "";
    this.chart.rename(`Posterior of a ${kind}`, `The posterior of one ${kind}: where its true value may lie, and 95 % of it shaded.`);
    if (this.query === null) this.showNothing();
  }

  showNothing() {
    this.chart.showEmpty(`Name a ${this.kind.value || "word"} above to see its posterior.`);
    setChildren(this.facts);
  }

  async fetchPosterior() {
    const chosen = this.query;
    if (!chosen || chosen.text === "") {
      this.showNothing();
      return;
    }
    const query = new URLSearchParams(chosen);
    try {
      const density = await api.get(`api/posterior?${query}`);
      if (this.query === chosen) this.draw(density);
    } catch (error) {
      if (this.query !== chosen || !(error instanceof Problem)) return;
      this.chart.showEmpty(error.message);
      setChildren(this.facts);
    }
  }

  /** @param {any} density */
  draw(density) {
    const [low, high] = density.interval;
    setChildren(
      this.facts,
      h("strong", {}, visibleText(density.text)),
      ` ${density.meaning}: mean ${figure(density.mean)}, 95 % between ${figure(low)} and ${figure(high)}; ${density.family}${seenText(density)}.`,
      density.note ? h("span", { class: "soft" }, ` ${density.note}`) : null,
    );
    this.chart.show({
      points: density.x.length,
      last: density.mean,
      words: `Mean ${figure(density.mean)}, 95 % between ${figure(low)} and ${figure(high)}.`,
      table: { head: ["Value", "Density"], rows: pairs(density).map(([x, y]) => [figure(x), figure(y)]) },
      draw: curve(density),
    });
  }
}

/** @param {any} density */
function seenText({ seen: all, seen_towards: towards }) {
  if (all === null) return "";
  return towards === null ? `, seen ${whole(all)} times` : `, ${whole(towards)} of ${whole(all)}`;
}

/** The points of the curve. @param {any} density @returns {[number, number][]} */
function pairs(density) {
  return density.x.map((/** @type {number} */ x, /** @type {number} */ index) => [x, density.y[index]]);
}

/** @param {any} density @returns {(width: number, height: number) => import("./chart.js").Drawing} */
function curve(density) {
  const { x: xs, y: ys, interval, mean } = density;
  const known = pairs(density);
  return (width, height) => {
    const box = { left: 16, top: 24, width: width - 32, height: height - 24 - 30 };
    const bottom = box.top + box.height;
    const x = linear([xs[0], xs[xs.length - 1]], [box.left, box.left + box.width]);
    const y = linear([0, Math.max(...ys, 1e-12) * 1.05], [bottom, box.top]);
    const place = (/** @type {[number, number]} */ [value, height]) => /** @type {[number, number]} */ ([x(value), y(height)]);
    const points = known.map(place);
    const inside = known.filter(([value]) => value >= interval[0] && value <= interval[1]).map(place);
    const middle = s("line", { class: "mean", x1: x(mean), x2: x(mean), y1: box.top, y2: bottom });
    const ground = axes(box, { x, y, xFormat: figure, yFormat: () => "", yTicks: 1 });
    const label = note(x(mean), box.top - 8, `mean ${figure(mean)}`, x(mean) > width - 60 ? "end" : x(mean) < 60 ? "start" : "middle");
    const tooltipPoints = known.map(([value, height]) => ({ x: x(value), y: y(height), lines: [`at ${figure(value)}`, `density ${figure(height)}`] }));
    return { nodes: [ground, area(inside, bottom, "l1"), line(points, "l1"), middle, label], tooltipPoints, top: box.top, bottom };
  };
}
