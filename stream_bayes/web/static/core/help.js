// @ts-check
// The help dialog, with the key bindings.

import { on } from "./event_bus.js";
import { byId, h, setChildren } from "./dom.js";
import { MEANING, keyName, keyOf, keysOn, rebind, resetKeys, setKeysOn } from "./keys.js";

/** @type {string | null} */
let changing = null;

export function startHelp() {
  const dialog = byId("help");
  byId("help-open").addEventListener("click", openHelp);
  byId("help-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (/** @type {Event} */ event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", stop);
  dialog.addEventListener("keydown", pressed);
  byId("keys-reset").addEventListener("click", () => {
    resetKeys();
    note("All keys are reset.");
  });
  const box = byId("keys-on");
  box.checked = keysOn();
  box.addEventListener("change", () => setKeysOn(box.checked));
  on("keys", draw);
  draw();
}

export function openHelp() {
  const dialog = byId("help");
  if (!dialog.open) dialog.showModal();
}

/** @param {{version: string, group: string, log: string}} session */
export function showAbout(session) {
  setChildren(byId("about"), `stream_bayes ${session.version}, group ${session.group}, log ${session.log}.`);
}

function draw() {
  const used = new Set([...document.querySelectorAll("#answers kbd[data-key]")].map((node) => node.getAttribute("data-key")));
  const actions = Object.keys(MEANING).filter((action) => !action.startsWith("choice") || used.has(action));
  setChildren(byId("keys-body"), ...actions.map(row));
}

/** @param {string} action */
function row(action) {
  const button = h("button", { type: "button", class: "quiet", "data-change": action }, "Change");
  button.setAttribute("aria-label", `Change the key for ${MEANING[action]}`);
  button.addEventListener("click", () => {
    changing = action;
    note(`Press the new key for ${MEANING[action]}, or Escape.`);
  });
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, MEANING[action]),
    h("td", {}, h("kbd", {}, keyName(keyOf(action)))),
    h("td", {}, button),
  );
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  if (changing === null || ["Shift", "Control", "Alt", "Meta", "Tab"].includes(event.key)) return;
  event.preventDefault();
  event.stopPropagation();
  if (event.key === "Escape") {
    stop();
    return;
  }
  const action = changing;
  const refused = rebind(action, event);
  if (refused !== null) {
    note(refused);
    return;
  }
  changing = null;
  note(`${MEANING[action]} is now on “${keyName(keyOf(action))}”.`);
  /** @type {HTMLElement | null} */ (document.querySelector(`[data-change="${action}"]`))?.focus();
}

function stop() {
  changing = null;
  note("");
}

/** @param {string} text */
function note(text) {
  setChildren(byId("keys-note"), text);
}

export { draw as drawKeys };
