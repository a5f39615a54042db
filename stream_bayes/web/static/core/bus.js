// @ts-check
// What the parts of the page tell each other.
//
// change  something changed on the server: {version, open}
// lost    the server does not answer
// back    it answers again
// locked  one must log in again
// name    the labeller has another name: {before, name}
// keys    the keys were changed
// theme   the colours were changed
// session the server has said what it is, and what the learner is

/** @type {Map<string, Set<(detail: any) => void>>} */
const listeners = new Map();

/** @param {string} name @param {(detail: any) => void} listener */
export function on(name, listener) {
  const known = listeners.get(name) ?? new Set();
  known.add(listener);
  listeners.set(name, known);
}

/** @param {string} name @param {unknown} [detail] */
export function tell(name, detail) {
  for (const listener of listeners.get(name) ?? []) listener(detail);
}

/**
 * The function, at most once in so many milliseconds, and once more at the end.
 * @param {number} pause
 * @param {() => unknown} action
 */
export function seldom(pause, action) {
  let last = -Infinity;
  let waiting = 0;
  const run = () => {
    waiting = 0;
    last = performance.now();
    action();
  };
  return () => {
    if (waiting) return;
    waiting = window.setTimeout(run, Math.max(0, last + pause - performance.now()));
  };
}
