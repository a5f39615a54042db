// @ts-check
// The requests that were skipped in this tab: not shown again, also after a reload, until the labeller asks for them.

import { same } from "./outbox.js";

const KEY = "stream_bayes.skipped";
const MAX_PLACES = 900;

/** @typedef {{partition: number, offset: number}} Place */

export class Skipped {
  constructor() {
    /** @type {Place[]} */
    this.places = loadPlaces();
  }

  get size() {
    return this.places.length;
  }

  /** @param {Place} place */
  add(place) {
    this.store([...this.places.filter((one) => !same(one, place)), { partition: place.partition, offset: place.offset }]);
  }

  /** @param {Place} place */
  remove(place) {
    this.store(this.places.filter((one) => !same(one, place)));
  }

  clear() {
    this.store([]);
  }

  /** @param {Place[]} places */
  store(places) {
    this.places = places.slice(-MAX_PLACES);
    try {
      sessionStorage.setItem(KEY, JSON.stringify(this.places));
    } catch {
      // Without storage they are shown again after a reload.
    }
  }
}

/** @returns {Place[]} */
function loadPlaces() {
  try {
    const all = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return all.filter((/** @type {any} */ one) => Number.isInteger(one?.partition) && Number.isInteger(one?.offset)).slice(-MAX_PLACES);
  } catch {
    return [];
  }
}
