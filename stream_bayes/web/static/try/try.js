// @ts-check
// The view to try a mail: predicted and explained, never learned.

import { Problem, api, currentSession } from "../core/api.js";
import { on } from "../core/event_bus.js";
import { byId, escapeHidden, h, setChildren } from "../core/dom.js";
import { checkpointName, renderPrediction } from "../queue/explanation.js";
import { count, size } from "../core/format.js";

const MAX_CHARACTERS = 1_000_000;
const MAX_BYTES = 1_050_000;
const CHUNK = 0x8000;
const KEY = "stream_bayes.try";
const NOTHING = "The prediction with its interval and explanation is shown here.";
const FEATURES = "This learner reads features: give them as JSON, such as {\"length\": 12, \"width\": 3.5}.";
const HEADER = /^(?:from |[!-9;-~]+:[ \t])/i;

/** @type {{name: string, bytes: Uint8Array} | null} */
let file = null;
/** The number of changes of the input, so that a prediction for an earlier input is not shown. */
let revision = 0;

export function startTry() {
  restore();
  byId("try-form").addEventListener("submit", submit);
  byId("try-clear").addEventListener("click", clearForm);
  byId("try-file").addEventListener("change", () => byId("try-file").files[0] && chooseFile(byId("try-file").files[0]));
  byId("try-text").addEventListener("input", () => {
    file = null;
    setChildren(byId("try-file-name"));
  });
  byId("try-form").addEventListener("input", clearResult);
  on("session", adaptForm);
  const drop = byId("try-drop");
  // On the whole view, so that a file dropped beside the field does not replace the page.
  const view = byId("view-try");
  view.addEventListener("dragover", (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  view.addEventListener("dragleave", () => drop.classList.remove("over"));
  view.addEventListener("drop", onDrop);
}

/** @param {DragEvent} event */
function onDrop(event) {
  event.preventDefault();
  byId("try-drop").classList.remove("over");
  const [first] = event.dataTransfer?.files ?? [];
  const text = event.dataTransfer?.getData("text/plain");
  if (first) chooseFile(first);
  else if (text) {
    byId("try-text").value = text;
    file = null;
    setChildren(byId("try-file-name"));
    clearResult();
  }
}

/** For a learner of features the form has a field for features only. */
function adaptForm() {
  if (!featuresOnly()) return;
  setChildren(byId("try-label"), "Features, as JSON");
  byId("try-text").placeholder = '{"length": 12, "width": 3.5}';
  byId("try-about").hidden = true;
}

function featuresOnly() {
  return currentSession()?.mail === false && currentSession()?.numbers === true;
}

/** Removes the prediction of an earlier input. */
function clearResult() {
  revision += 1;
  const old = byId("try-result-body").dataset.shown === "true";
  showResult(h("p", { class: "soft" }, old ? "The input has changed: predict again." : NOTHING));
}

/** @param {...Node} nodes */
function showResult(...nodes) {
  setChildren(byId("try-result-body"), ...nodes);
  byId("try-result-body").dataset.shown = "false";
}

/** @param {File} chosen */
async function chooseFile(chosen) {
  showProblem("");
  clearResult();
  if (chosen.size > MAX_BYTES) {
    const most = `at most ${size(MAX_BYTES)} can be tried here. For larger ones there is stream-bayes classify.`;
    showProblem(`${escapeHidden(chosen.name)} has ${size(chosen.size)}; ${most}`);
    return;
  }
  file = { name: chosen.name, bytes: new Uint8Array(await chosen.arrayBuffer()) };
  byId("try-text").value = "";
  setChildren(byId("try-file-name"), `${escapeHidden(chosen.name)}, ${size(chosen.size)}`);
  byId("try-form").requestSubmit();
}

function clearForm() {
  file = null;
  byId("try-form").reset();
  setChildren(byId("try-file-name"));
  showProblem("");
  revision += 1;
  showResult(h("p", { class: "soft" }, NOTHING));
  byId("try-text").focus();
}

/** @param {string} words */
function showProblem(words) {
  setChildren(byId("try-problem"), words);
}

/** @param {Uint8Array} bytes */
function base64(bytes) {
  let text = "";
  for (let from = 0; from < bytes.length; from += CHUNK) text += String.fromCharCode(...bytes.subarray(from, from + CHUNK));
  return btoa(text);
}

/** The body of the request, or the reason why there is none. @returns {Record<string, unknown> | string} */
function requestBody() {
  if (file !== null && featuresOnly()) return parseFeatures(new TextDecoder().decode(file.bytes));
  if (file !== null) return { raw: base64(file.bytes) };
  const text = byId("try-text").value;
  if (text.trim() === "") return "Paste something first, or choose a file.";
  if (text.length > MAX_CHARACTERS) return `At most ${count(MAX_CHARACTERS, "character")} can be tried here.`;
  const chosen = byId("try-kind").value;
  const kind = chosen === "auto" ? detectKind(text) : chosen;
  if (kind === "features") return parseFeatures(text);
  if (featuresOnly()) return FEATURES;
  if (kind === "raw") {
    const bytes = new TextEncoder().encode(text);
    return bytes.length > MAX_BYTES ? `At most ${size(MAX_BYTES)} can be tried here.` : { raw: base64(bytes) };
  }
  const subject = byId("try-subject").value.trim();
  const sender = byId("try-sender").value.trim();
  return { text, ...(subject && { subject }), ...(sender && { sender }) };
}

/** @param {string} text */
function detectKind(text) {
  if (/^\s*\{/.test(text) && typeof parseFeatures(text) !== "string") return "features";
  const lines = text.split(/\r?\n/, 3);
  const head = lines.length > 1 && HEADER.test(lines[0]) && (HEADER.test(lines[1]) || /^[ \t]/.test(lines[1]) || lines[1] === "");
  return head ? "raw" : "text";
}

/** @param {string} text */
function parseFeatures(text) {
  try {
    const parsed = JSON.parse(text);
    if (parsed !== null && typeof parsed === "object" && !Array.isArray(parsed)) return { features: parsed };
  } catch {
    return "That is not JSON. Features look like {\"length\": 12, \"colour\": \"red\"}.";
  }
  return "Features are a JSON object, such as {\"length\": 12, \"colour\": \"red\"}.";
}

/** @param {Event} event */
async function submit(event) {
  event.preventDefault();
  showProblem("");
  const body = requestBody();
  if (typeof body === "string") {
    clearResult();
    showProblem(body);
    return;
  }
  const submitted = revision;
  const button = byId("try-go");
  const card = byId("try-result");
  button.setAttribute("aria-disabled", "true");
  card.setAttribute("aria-busy", "true");
  try {
    const prediction = await api.post("api/predict", body);
    if (submitted === revision) show(prediction, "features" in body ? "features" : "mail");
  } catch (error) {
    clearResult();
    if (error instanceof Problem && error.status === 401) storeForLogin(byId("try-text").value);
    showProblem(error instanceof Problem ? error.message : "The server does not answer. Your text is still here: try again in a moment.");
  } finally {
    button.removeAttribute("aria-disabled");
    card.setAttribute("aria-busy", "false");
  }
}

/** Stores the text until the next login. @param {string} text */
function storeForLogin(text) {
  try {
    sessionStorage.setItem(KEY, text);
  } catch {
    // Without storage it must be pasted again.
  }
}

function restore() {
  try {
    byId("try-text").value = sessionStorage.getItem(KEY) ?? "";
    sessionStorage.removeItem(KEY);
  } catch {
    // As above.
  }
}

/** @param {any} prediction @param {string} content */
function show(prediction, content) {
  const from = `By ${checkpointName(prediction)} of partition ${prediction.partition}, after ${count(prediction.model_version, "label")}. Nothing was learned.`;
  showResult(...renderPrediction(prediction, content), h("p", { class: "soft small" }, from));
  byId("try-result-body").dataset.shown = "true";
}
