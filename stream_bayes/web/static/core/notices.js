// @ts-check
// Banners, which stay until they are removed, and toasts, which disappear.

import { byId, h, setChildren } from "./dom.js";

const TOAST_TIME = 5000;

/** @type {Map<string, HTMLElement>} */
const banners = new Map();
let timer = 0;

/**
 * @param {string} name
 * @param {string} text
 * @param {{label: string, action: () => unknown}[]} [actions]
 * @param {string} [title] details, in the tooltip
 */
export function showBanner(name, text, actions = [], title = "") {
  const buttons = actions.map(({ label, action }) => {
    const button = h("button", { type: "button", class: "quiet" }, label);
    button.addEventListener("click", action);
    return button;
  });
  const node = h("div", { class: "banner", id: `banner-${name}`, role: "alert", title: title || null }, h("p", {}, text), ...buttons);
  const before = banners.get(name);
  if (before?.textContent === node.textContent) return;
  if (before) before.replaceWith(node);
  else byId("banners").append(node);
  banners.set(name, node);
}

/** @param {string} name */
export function removeBanner(name) {
  banners.get(name)?.remove();
  banners.delete(name);
}

/** @param {string} text */
export function toast(text) {
  const node = byId("toast");
  setChildren(node, h("span", {}, text));
  node.classList.add("on");
  clearTimeout(timer);
  timer = window.setTimeout(() => node.classList.remove("on"), TOAST_TIME);
}

/** Hides the toast. */
export function hideToast() {
  clearTimeout(timer);
  byId("toast").classList.remove("on");
}

/** Announces a text to screen readers only. @param {string} text */
export function announce(text) {
  setChildren(byId("announcer"), text);
}
