// @ts-check
// Banners that stay until their matter is settled, and toasts that pass.

import { h, put, the } from "./dom.js";

const STAYS = 5000;

/** @type {Map<string, HTMLElement>} */
const banners = new Map();
let fading = 0;

/**
 * @param {string} name
 * @param {string} text
 * @param {{label: string, action: () => unknown}[]} [actions]
 * @param {string} [title] what only those need who look for it
 */
export function banner(name, text, actions = [], title = "") {
  const buttons = actions.map(({ label, action }) => {
    const button = h("button", { type: "button", class: "quiet" }, label);
    button.addEventListener("click", action);
    return button;
  });
  const node = h("div", { class: "banner", id: `banner-${name}`, role: "alert", title: title || null }, h("p", {}, text), ...buttons);
  const before = banners.get(name);
  if (before?.textContent === node.textContent) return;
  if (before) before.replaceWith(node);
  else the("banners").append(node);
  banners.set(name, node);
}

/** @param {string} name */
export function unbanner(name) {
  banners.get(name)?.remove();
  banners.delete(name);
}

/** @param {string} text */
export function toast(text) {
  const node = the("toast");
  put(node, h("span", {}, text));
  node.classList.add("on");
  clearTimeout(fading);
  fading = window.setTimeout(() => node.classList.remove("on"), STAYS);
}

/** Takes the toast away. */
export function hush() {
  clearTimeout(fading);
  the("toast").classList.remove("on");
}

/** For screen readers only. @param {string} text */
export function announce(text) {
  put(the("announcer"), text);
}
