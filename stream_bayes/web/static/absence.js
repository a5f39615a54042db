// @ts-check
// A tab that nobody looks at for long keeps no question from others.

const SHARE = 0.5;

/**
 * @param {{seconds: () => number | null | undefined, back: () => void, gone: () => void}} actions
 *   of which `seconds` is the time of the lease; `gone` is told after a share of it
 */
export function watchAbsence({ seconds, back, gone }) {
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
