// @ts-check
// A mail to try: predicted and explained, never learned.

import { Problem, api, known } from "../core/api.js";
import { on } from "../core/bus.js";
import { h, plain, put, the } from "../core/dom.js";
import { checkpointWords, wholeOpinion } from "../queue/reasons.js";
import { count, size } from "../core/words.js";

const MOST_TEXT = 1_000_000;
const MOST_BYTES = 1_050_000;
const CHUNK = 0x8000;
const KEPT = "stream_bayes.try";
const NOTHING = "Its prediction with an interval, and what moved it, will stand here.";
const FEATURES = "This learner reads features: give them as JSON, such as {\"length\": 12, \"width\": 3.5}.";
const HEADER = /^(?:from |[!-9;-~]+:[ \t])/i;

/** @type {{name: string, bytes: Uint8Array} | null} */
let file = null;
/** Counts what was put in, so that an answer to something else is not shown. */
let edition = 0;

export function startTry() {
  restore();
  the("try-form").addEventListener("submit", submitted);
  the("try-clear").addEventListener("click", clear);
  the("try-file").addEventListener("change", () => the("try-file").files[0] && choose(the("try-file").files[0]));
  the("try-text").addEventListener("input", () => {
    file = null;
    put(the("try-file-name"));
  });
  the("try-form").addEventListener("input", outdated);
  on("session", fit);
  const drop = the("try-drop");
  // Over the whole view, so that a file dropped beside the field does not replace the page.
  const view = the("view-try");
  view.addEventListener("dragover", (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  view.addEventListener("dragleave", () => drop.classList.remove("over"));
  view.addEventListener("drop", dropped);
}

/** @param {DragEvent} event */
function dropped(event) {
  event.preventDefault();
  the("try-drop").classList.remove("over");
  const [first] = event.dataTransfer?.files ?? [];
  const text = event.dataTransfer?.getData("text/plain");
  if (first) choose(first);
  else if (text) {
    the("try-text").value = text;
    file = null;
    put(the("try-file-name"));
    outdated();
  }
}

/** Where the learner reads features only, the form asks for them. */
function fit() {
  if (!featuresOnly()) return;
  put(the("try-label"), "Features, as JSON");
  the("try-text").placeholder = '{"length": 12, "width": 3.5}';
  the("try-about").hidden = true;
}

function featuresOnly() {
  return known()?.mail === false && known()?.numbers === true;
}

/** What was said of something else is taken away. */
function outdated() {
  edition += 1;
  const old = the("try-result-body").dataset.shown === "true";
  result(h("p", { class: "soft" }, old ? "This has changed: ask again." : NOTHING));
}

/** @param {...Node} nodes */
function result(...nodes) {
  put(the("try-result-body"), ...nodes);
  the("try-result-body").dataset.shown = "false";
}

/** @param {File} chosen */
async function choose(chosen) {
  complain("");
  outdated();
  if (chosen.size > MOST_BYTES) {
    const most = `at most ${size(MOST_BYTES)} can be tried here. For larger ones there is stream-bayes classify.`;
    complain(`${plain(chosen.name)} has ${size(chosen.size)}; ${most}`);
    return;
  }
  file = { name: chosen.name, bytes: new Uint8Array(await chosen.arrayBuffer()) };
  the("try-text").value = "";
  put(the("try-file-name"), `${plain(chosen.name)}, ${size(chosen.size)}`);
  the("try-form").requestSubmit();
}

function clear() {
  file = null;
  the("try-form").reset();
  put(the("try-file-name"));
  complain("");
  edition += 1;
  result(h("p", { class: "soft" }, NOTHING));
  the("try-text").focus();
}

/** @param {string} words */
function complain(words) {
  put(the("try-problem"), words);
}

/** @param {Uint8Array} bytes */
function base64(bytes) {
  let text = "";
  for (let from = 0; from < bytes.length; from += CHUNK) text += String.fromCharCode(...bytes.subarray(from, from + CHUNK));
  return btoa(text);
}

/** What is sent, or a sentence that says why it cannot be. @returns {Record<string, unknown> | string} */
function body() {
  if (file !== null && featuresOnly()) return features(new TextDecoder().decode(file.bytes));
  if (file !== null) return { raw: base64(file.bytes) };
  const text = the("try-text").value;
  if (text.trim() === "") return "Paste something first, or choose a file.";
  if (text.length > MOST_TEXT) return `At most ${count(MOST_TEXT, "character")} can be tried here.`;
  const wanted = the("try-kind").value;
  const kind = wanted === "auto" ? guessed(text) : wanted;
  if (kind === "features") return features(text);
  if (featuresOnly()) return FEATURES;
  if (kind === "raw") {
    const bytes = new TextEncoder().encode(text);
    return bytes.length > MOST_BYTES ? `At most ${size(MOST_BYTES)} can be tried here.` : { raw: base64(bytes) };
  }
  const subject = the("try-subject").value.trim();
  const sender = the("try-sender").value.trim();
  return { text, ...(subject && { subject }), ...(sender && { sender }) };
}

/** @param {string} text */
function guessed(text) {
  if (/^\s*\{/.test(text) && typeof features(text) !== "string") return "features";
  const lines = text.split(/\r?\n/, 3);
  const head = lines.length > 1 && HEADER.test(lines[0]) && (HEADER.test(lines[1]) || /^[ \t]/.test(lines[1]) || lines[1] === "");
  return head ? "raw" : "text";
}

/** @param {string} text */
function features(text) {
  try {
    const parsed = JSON.parse(text);
    if (parsed !== null && typeof parsed === "object" && !Array.isArray(parsed)) return { features: parsed };
  } catch {
    return "That is not JSON. Features look like {\"length\": 12, \"colour\": \"red\"}.";
  }
  return "Features are a JSON object, such as {\"length\": 12, \"colour\": \"red\"}.";
}

/** @param {Event} event */
async function submitted(event) {
  event.preventDefault();
  complain("");
  const wanted = body();
  if (typeof wanted === "string") {
    outdated();
    complain(wanted);
    return;
  }
  const asked = edition;
  const button = the("try-go");
  const card = the("try-result");
  button.setAttribute("aria-disabled", "true");
  card.setAttribute("aria-busy", "true");
  try {
    const opinion = await api.post("api/predict", wanted);
    if (asked === edition) show(opinion, "features" in wanted ? "features" : "mail");
  } catch (error) {
    outdated();
    if (error instanceof Problem && error.status === 401) overLogin(the("try-text").value);
    complain(error instanceof Problem ? error.message : "The server does not answer. Your text is still here: try again in a moment.");
  } finally {
    button.removeAttribute("aria-disabled");
    card.setAttribute("aria-busy", "false");
  }
}

/** Keeps a text while one logs in again, and no longer. @param {string} text */
function overLogin(text) {
  try {
    sessionStorage.setItem(KEPT, text);
  } catch {
    // Where nothing may be stored it must be pasted again.
  }
}

function restore() {
  try {
    the("try-text").value = sessionStorage.getItem(KEPT) ?? "";
    sessionStorage.removeItem(KEPT);
  } catch {
    // As above.
  }
}

/** @param {any} opinion @param {string} content */
function show(opinion, content) {
  const from = `By ${checkpointWords(opinion)} of partition ${opinion.partition}, after ${count(opinion.model_version, "label")}. Nothing was learned.`;
  result(...wholeOpinion(opinion, content), h("p", { class: "soft small" }, from));
  the("try-result-body").dataset.shown = "true";
}
