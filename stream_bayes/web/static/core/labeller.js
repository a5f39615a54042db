// @ts-check
// The name of the labeller, stored in this browser.

import { emit } from "./event_bus.js";
import { byId } from "./dom.js";
import { loadSetting, saveSetting } from "./settings_store.js";

const NAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._@'-]*$/u;
const MAX_LENGTH = 64;

let name = "";

export function labeller() {
  return name;
}

/** @param {unknown} text */
function isName(text) {
  return typeof text === "string" && text.length <= MAX_LENGTH && NAME.test(text);
}

function randomName() {
  const [low, high] = crypto.getRandomValues(new Uint8Array(2));
  return `labeller-${((high << 8) | low).toString(16).padStart(4, "0")}`;
}

export function startLabeller() {
  const field = byId("labeller");
  const problem = byId("labeller-problem");
  const stored = loadSetting("labeller", "");
  name = isName(stored) ? stored : randomName();
  saveSetting("labeller", name);
  field.value = name;

  const showProblem = (/** @type {string} */ text) => {
    problem.textContent = text;
    field.setAttribute("aria-invalid", String(text !== ""));
  };
  const rename = () => {
    const typed = field.value.trim();
    if (!isName(typed)) {
      showProblem("Letters, digits, spaces and . _ @ - ' only; the first a letter or digit.");
      return;
    }
    showProblem("");
    field.value = typed;
    if (typed === name) return;
    const before = name;
    name = typed;
    saveSetting("labeller", name);
    emit("labeller", { before, name });
  };
  field.addEventListener("change", rename);
  field.addEventListener("input", () => showProblem(""));
  field.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter") field.blur();
    if (event.key === "Escape") {
      field.value = name;
      showProblem("");
      field.blur();
    }
  });
}
