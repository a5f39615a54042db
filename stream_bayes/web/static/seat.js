// @ts-check
// Which tab this is: two people with the same name have two seats.

const KEPT = "stream_bayes.seat";

let own = "";

/** The same until the tab is closed. */
export function seat() {
  if (own === "") own = stored() ?? invented();
  return own;
}

function stored() {
  try {
    const text = sessionStorage.getItem(KEPT);
    return text !== null && /^[A-Za-z0-9-]{1,64}$/.test(text) ? text : null;
  } catch {
    return null;
  }
}

function invented() {
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  const text = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
  try {
    sessionStorage.setItem(KEPT, text);
  } catch {
    // Where nothing may be stored it lasts until the page is loaded again.
  }
  return text;
}
