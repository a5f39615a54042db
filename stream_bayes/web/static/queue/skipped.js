// @ts-check
// What was skipped in this tab: not shown again until somebody asks for it, also after a reload.

import { same } from "./outbox.js";

const KEPT = "stream_bayes.skipped";
const MOST = 900;

/** @typedef {{partition: number, offset: number}} Place */

export class Skipped {
  constructor() {
    /** @type {Place[]} */
    this.places = stored();
  }

  get size() {
    return this.places.length;
  }

  /** @param {Place} place */
  add(place) {
    this.keep([...this.places.filter((one) => !same(one, place)), { partition: place.partition, offset: place.offset }]);
  }

  /** @param {Place} place */
  remove(place) {
    this.keep(this.places.filter((one) => !same(one, place)));
  }

  clear() {
    this.keep([]);
  }

  /** @param {Place[]} places */
  keep(places) {
    this.places = places.slice(-MOST);
    try {
      sessionStorage.setItem(KEPT, JSON.stringify(this.places));
    } catch {
      // Where nothing may be stored they come again after a reload.
    }
  }
}

/** @returns {Place[]} */
function stored() {
  try {
    const all = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
    return all.filter((/** @type {any} */ one) => Number.isInteger(one?.partition) && Number.isInteger(one?.offset)).slice(-MOST);
  } catch {
    return [];
  }
}
