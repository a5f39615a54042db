// @ts-check
// Who answers: a name that this browser keeps.

import { tell } from "./bus.js";
import { the } from "./dom.js";
import { recall, remember } from "./store.js";

const NAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._@'-]*$/u;
const LONGEST = 64;

let name = "";

export function labeller() {
  return name;
}

/** @param {unknown} text */
function isName(text) {
  return typeof text === "string" && text.length <= LONGEST && NAME.test(text);
}

function invented() {
  const [low, high] = crypto.getRandomValues(new Uint8Array(2));
  return `labeller-${((high << 8) | low).toString(16).padStart(4, "0")}`;
}

export function startLabeller() {
  const field = the("labeller");
  const problem = the("labeller-problem");
  const stored = recall("labeller", "");
  name = isName(stored) ? stored : invented();
  remember("labeller", name);
  field.value = name;

  const complain = (/** @type {string} */ text) => {
    problem.textContent = text;
    field.setAttribute("aria-invalid", String(text !== ""));
  };
  const take = () => {
    const wanted = field.value.trim();
    if (!isName(wanted)) {
      complain("Letters, digits, spaces and . _ @ - ' only; the first a letter or digit.");
      return;
    }
    complain("");
    field.value = wanted;
    if (wanted === name) return;
    const before = name;
    name = wanted;
    remember("labeller", name);
    tell("name", { before, name });
  };
  field.addEventListener("change", take);
  field.addEventListener("input", () => complain(""));
  field.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter") field.blur();
    if (event.key === "Escape") {
      field.value = name;
      complain("");
      field.blur();
    }
  });
}
