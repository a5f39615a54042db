// @ts-check
// Light, dark, or as the system is.

import { tell } from "./bus.js";
import { the } from "./dom.js";
import { forget, recall, remember } from "./store.js";

const WORDS = { auto: "Auto", light: "Light", dark: "Dark" };
const LONG = { auto: "as the system", light: "light", dark: "dark" };
const NEXT = { auto: "light", light: "dark", dark: "auto" };

export function startTheme() {
  const button = the("theme");
  let theme = recall("theme", "auto");
  if (!(theme in WORDS)) theme = "auto";
  const show = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = WORDS[theme];
    button.setAttribute("aria-label", `Theme: ${WORDS[theme]}, ${LONG[theme]}. Press for ${LONG[NEXT[theme]]}`);
    tell("theme");
  };
  button.addEventListener("click", () => {
    theme = NEXT[theme];
    if (theme === "auto") forget("theme");
    else remember("theme", theme);
    show();
  });
  show();
}
