// @ts-check
// The lease of the label request on the screen: renewed while the labeller is active.

import { Problem, api, requestPath } from "../core/api.js";

const ACTIVITY = ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "touchmove"];
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
    /** The renewal in progress; an answer waits for it. @type {Promise<void> | null} */
    this.renewal = null;
    for (const name of ACTIVITY) addEventListener(name, () => this.onActivity(), { passive: true, capture: true });
  }

  /** @param {any} place @param {string} labeller @param {number | null} seconds */
  start(place, labeller, seconds) {
    this.stop();
    if (seconds === null) return;
    this.held = { place, labeller, period: Math.max(SHORTEST, (seconds * 1000) / 3) };
    this.schedule();
  }

  stop() {
    clearTimeout(this.timer);
    this.held = null;
  }

  schedule() {
    this.renewed = performance.now();
    this.active = false;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.active && this.renew(), this.held?.period ?? 0);
  }

  /** After a long pause the lease is renewed at once. */
  onActivity() {
    this.active = true;
    if (this.held !== null && performance.now() - this.renewed > this.held.period) this.renew();
  }

  renew() {
    if (this.held === null || this.renewal !== null) return;
    this.renewal = this.postRenewal(this.held).finally(() => (this.renewal = null));
  }

  /** @param {NonNullable<Lease["held"]>} held */
  async postRenewal(held) {
    try {
      await api.post(requestPath(held.place, "renew"), { labeller: held.labeller });
    } catch (error) {
      if (error instanceof Problem && [404, 409].includes(error.status) && this.held === held) {
        this.stop();
        this.onLost(error);
      }
    }
    if (this.held === held) this.schedule();
  }
}
