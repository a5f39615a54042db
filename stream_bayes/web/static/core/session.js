// @ts-check
// The id of the browser session: two people with the same name have two tabs.

const KEY = "stream_bayes.session_id";

let id = "";

/** The session id, which is the same until the tab is closed. */
export function sessionId() {
  if (id === "") id = storedId() ?? generateId();
  return id;
}

function storedId() {
  try {
    const text = sessionStorage.getItem(KEY);
    return text !== null && /^[A-Za-z0-9-]{1,64}$/.test(text) ? text : null;
  } catch {
    return null;
  }
}

function generateId() {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  const text = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
  try {
    sessionStorage.setItem(KEY, text);
  } catch {
    // Without storage it lasts until the page is loaded again.
  }
  return text;
}
