// @ts-check
// Settings in the local storage of the browser. The page also works without storage.

const PREFIX = "stream_bayes.";

/**
 * @template T
 * @param {string} name
 * @param {T} fallback
 * @returns {T}
 */
export function loadSetting(name, fallback) {
  try {
    const stored = localStorage.getItem(PREFIX + name);
    return stored === null ? fallback : JSON.parse(stored);
  } catch {
    return fallback;
  }
}

/** @param {string} name @param {unknown} value */
export function saveSetting(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Private windows and full disks have no storage; the setting is lost with the page.
  }
}

/** @param {string} name */
export function removeSetting(name) {
  try {
    localStorage.removeItem(PREFIX + name);
  } catch {
    // As above.
  }
}
