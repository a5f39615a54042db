// @ts-check
// The theme: light, dark, or that of the system.

import { emit } from "./event_bus.js";
import { byId } from "./dom.js";
import { loadSetting, removeSetting, saveSetting } from "./settings_store.js";

const NAMES = { auto: "Auto", light: "Light", dark: "Dark" };
const DESCRIPTIONS = { auto: "that of the system", light: "light", dark: "dark" };
const NEXT = { auto: "light", light: "dark", dark: "auto" };

export function startTheme() {
  const button = byId("theme");
  let theme = loadSetting("theme", "auto");
  if (!(theme in NAMES)) theme = "auto";
  const show = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = NAMES[theme];
    button.setAttribute("aria-label", `Theme: ${NAMES[theme]}, ${DESCRIPTIONS[theme]}. Press for ${DESCRIPTIONS[NEXT[theme]]}`);
    emit("theme");
  };
  button.addEventListener("click", () => {
    theme = NEXT[theme];
    if (theme === "auto") removeSetting("theme");
    else saveSetting("theme", theme);
    show();
  });
  show();
}
