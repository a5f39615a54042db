// @ts-check
// Scales from values to pixels, with round ticks.

/**
 * @typedef {((value: number) => number) & {ticks: (count: number) => number[], domain: [number, number]}} Scale
 */

/** @param {[number, number]} domain @param {[number, number]} range @returns {Scale} */
export function linear([low, high], [from, to]) {
  const width = high - low || 1;
  const scale = (/** @type {number} */ value) => from + ((value - low) / width) * (to - from);
  const ticks = (/** @type {number} */ count) => roundTicks(low, high, count);
  return Object.assign(scale, { ticks, domain: /** @type {[number, number]} */ ([low, high]) });
}

/** @param {[number, number]} domain @param {[number, number]} range @returns {Scale} */
export function logarithmic([low, high], [from, to]) {
  const width = Math.log(high / low) || 1;
  const scale = (/** @type {number} */ value) => from + (Math.log(Math.max(value, low) / low) / width) * (to - from);
  return Object.assign(scale, { ticks: () => decades(low, high), domain: /** @type {[number, number]} */ ([low, high]) });
}

/** A scale of times in milliseconds. @param {[number, number]} domain @param {[number, number]} range @returns {Scale} */
export function temporal(domain, range) {
  return Object.assign(linear(domain, range), { ticks: (/** @type {number} */ count) => timeTicks(domain[0], domain[1], count) });
}

/** @param {number} low @param {number} high @param {number} count */
export function roundTicks(low, high, count) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.8) ?? 10) * power;
  const ticks = [];
  for (let number = Math.ceil(low / step - 1e-9); number * step <= high + step * 1e-9; number += 1) {
    ticks.push(Number((number * step).toPrecision(12)));
  }
  return ticks;
}

/** @param {number} low @param {number} high */
function decades(low, high) {
  const ticks = [];
  const few = high / low > 100;
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1) {
    for (const factor of few ? [1] : [1, 2, 5]) {
      const value = Number((factor * 10 ** power).toPrecision(6));
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
    }
  }
  return ticks;
}

const SECOND = 1000;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

/** @param {number} low @param {number} high @param {number} count */
function timeTicks(low, high, count) {
  const rough = (high - low) / SECOND / Math.max(1, count);
  const step = (STEPS.find((seconds) => seconds >= rough) ?? Math.ceil(rough / 604800) * 604800) * SECOND;
  // Days begin at local midnight.
  const shift = new Date(low).getTimezoneOffset() * 60 * SECOND;
  const ticks = [];
  for (let at = Math.ceil((low - shift) / step) * step + shift; at <= high; at += step) ticks.push(at);
  return ticks;
}

/** A domain from zero to a round number above all values. @param {number[]} values @returns {[number, number]} */
export function fromZero(values) {
  const most = Math.max(0, ...values);
  if (most === 0) return [0, 1];
  const [step] = [roundTicks(0, most, 4)[1] ?? most];
  return [0, Math.ceil(most / step - 1e-9) * step];
}

/** The minimum and the maximum, with some room if they are equal. @param {number[]} values @param {number} [room] @returns {[number, number]} */
export function extent(values, room = 0.5) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  return low === high ? [low - room, high + room] : [low, high];
}

/** A domain for a logarithmic axis, or null if a linear axis is clearer. @param {number[]} values @returns {[number, number] | null} */
export function logDomain(values) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  if (!(low > 0) || high / low < 20) return null;
  return [low / 1.15, high * 1.15];
}
