// @ts-check
// Idle detection: a hidden tab releases its question after a part of the lease.

const SHARE = 0.5;

/**
 * @param {{seconds: () => number | null | undefined, back: () => void, gone: () => void}} actions
 *   of which `seconds` is the time of the lease; `gone` is called after a share of it
 */
export function watchIdle({ seconds, back, gone }) {
  let hiding = 0;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (!document.hidden) {
      back();
      return;
    }
    const lease = seconds();
    if (lease) hiding = window.setTimeout(() => document.hidden && gone(), lease * 1000 * SHARE);
  });
}
