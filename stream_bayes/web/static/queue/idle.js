// @ts-check
// Idle detection: a hidden tab releases its request after a part of the lease.

const SHARE = 0.5;

/**
 * @param {{seconds: () => number | null | undefined, onVisible: () => void, onIdle: () => void}} actions
 *   of which `seconds` is the time of the lease; `onIdle` is called after a share of it
 */
export function watchIdle({ seconds, onVisible, onIdle }) {
  let timer = 0;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (!document.hidden) {
      onVisible();
      return;
    }
    const lease = seconds();
    if (lease) timer = window.setTimeout(() => document.hidden && onIdle(), lease * 1000 * SHARE);
  });
}
