// @ts-check
// Event bus between the parts of the page. Its events:
//
// change        the state on the server changed: {version, open}
// offline       the server does not answer
// online        the server answers again
// unauthorized  a new login is needed
// labeller      the labeller changed the name: {before, name}
// keys          the key bindings changed
// theme         the theme changed
// session       the session was loaded

/** @type {Map<string, Set<(detail: any) => void>>} */
const listeners = new Map();

/** @param {string} name @param {(detail: any) => void} listener */
export function on(name, listener) {
  const known = listeners.get(name) ?? new Set();
  known.add(listener);
  listeners.set(name, known);
}

/** @param {string} name @param {unknown} [detail] */
export function emit(name, detail) {
  for (const listener of listeners.get(name) ?? []) listener(detail);
}

/**
 * Throttles an action: it runs at most once per pause, and once more after the last call.
 * @param {number} pause in milliseconds
 * @param {() => unknown} action
 */
export function throttle(pause, action) {
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
