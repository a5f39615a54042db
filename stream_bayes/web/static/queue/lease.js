// @ts-check
// A question is ours for a while: renewed while somebody is there, let go of when nobody is.

import { Problem, api, requestPath } from "../core/api.js";

const SIGNS = ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "touchmove"];
const SHORTEST = 500;

export class Lease {
  /** @param {(problem: Problem) => void} onLost */
  constructor(onLost) {
    this.onLost = onLost;
    /** @type {{place: any, labeller: string, period: number} | null} */
    this.held = null;
    this.renewed = 0;
    this.active = false;
    this.timer = 0;
    /** What is under way; an answer waits for it. @type {Promise<void> | null} */
    this.asking = null;
    for (const sign of SIGNS) addEventListener(sign, () => this.sign(), { passive: true, capture: true });
  }

  /** @param {any} place @param {string} labeller @param {number | null} seconds */
  start(place, labeller, seconds) {
    this.stop();
    if (seconds === null) return;
    this.held = { place, labeller, period: Math.max(SHORTEST, (seconds * 1000) / 3) };
    this.rest();
  }

  stop() {
    clearTimeout(this.timer);
    this.held = null;
  }

  rest() {
    this.renewed = performance.now();
    this.active = false;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.active && this.renew(), this.held?.period ?? 0);
  }

  /** Somebody is there; if nobody was for long, the lease is asked for at once. */
  sign() {
    this.active = true;
    if (this.held !== null && performance.now() - this.renewed > this.held.period) this.renew();
  }

  renew() {
    if (this.held === null || this.asking !== null) return;
    this.asking = this.ask(this.held).finally(() => (this.asking = null));
  }

  /** @param {NonNullable<Lease["held"]>} held */
  async ask(held) {
    try {
      await api.post(requestPath(held.place, "hold"), { labeller: held.labeller });
    } catch (error) {
      if (error instanceof Problem && [404, 409].includes(error.status) && this.held === held) {
        this.stop();
        this.onLost(error);
      }
    }
    if (this.held === held) this.rest();
  }
}
