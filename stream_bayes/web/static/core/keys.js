// @ts-check
// Single keys: which does what, and when they count.

import { on, tell } from "./bus.js";
import { forget, recall, remember } from "./store.js";

/** @type {Record<string, string>} */
const USUAL = { spam: "s", ham: "h", unsure: "n", skip: "k", undo: "u", help: "?" };
for (let digit = 1; digit <= 9; digit += 1) USUAL[`choice ${digit}`] = String(digit);

/** @type {Record<string, string>} */
export const MEANING = {
  spam: "Spam",
  ham: "Ham",
  unsure: "Not sure",
  skip: "Skip",
  undo: "Undo",
  help: "Help",
};
for (let digit = 1; digit <= 9; digit += 1) MEANING[`choice ${digit}`] = `Answer number ${digit}`;

/** @type {Record<string, string>} */
let changed = recall("keys", {});
let enabled = recall("keys_on", true);

/** @param {string} action */
export function keyOf(action) {
  const own = changed[action];
  return typeof own === "string" ? own : USUAL[action];
}

/** How a key is written. @param {string} key */
export function keyName(key) {
  return { " ": "Space", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" }[key] ?? key;
}

/** @param {KeyboardEvent} event */
function normal(event) {
  return event.key.length === 1 ? event.key.toLowerCase() : event.key;
}

/** Whether a key may be given to an action. @param {KeyboardEvent} event */
function usable(event) {
  const known = event.key.length === 1 || event.key.startsWith("Arrow");
  return known && event.key !== " " && !event.ctrlKey && !event.altKey && !event.metaKey;
}

/** What was wanted and refused last, because another action has that key. */
let refused = "";

/**
 * Gives an action another key, or says why not; a key of another action is swapped when it is pressed once more.
 * @param {string} action @param {KeyboardEvent} event
 * @returns {string | null}
 */
export function rebind(action, event) {
  if (!usable(event)) return "That key cannot be used. Take a letter, a digit, a sign or an arrow.";
  const key = normal(event);
  const other = Object.keys(USUAL).find((name) => name !== action && keyOf(name) === key);
  const wanted = `${action} ${key}`;
  if (other && refused !== wanted) {
    refused = wanted;
    return `“${keyName(key)}” already means ${MEANING[other]}. Press it once more to swap the two, or press another key.`;
  }
  refused = "";
  if (other) changed = { ...changed, [other]: keyOf(action) };
  changed = { ...changed, [action]: key };
  remember("keys", changed);
  tell("keys");
  return null;
}

export function resetKeys() {
  changed = {};
  forget("keys");
  tell("keys");
}

export function keysOn() {
  return enabled;
}

/** @param {boolean} value */
export function setKeysOn(value) {
  enabled = value;
  remember("keys_on", value);
  tell("keys");
}

/** @param {EventTarget | null} target */
export function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button", "submit"].includes(target.type);
  return target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName);
}

/** Whether a letter is typed into an empty field for numbers, where it can only be meant as a key. @param {KeyboardEvent} event */
function idleNumber({ target, key }) {
  return target instanceof HTMLInputElement && target.dataset.numbers === "true" && target.value === "" && /^\p{L}$/u.test(key);
}

/**
 * Hears the keys; a handler returns whether it took the action.
 * @param {(action: string) => boolean} handler
 */
export function hearKeys(handler) {
  addEventListener("keydown", (event) => {
    if (!enabled || event.defaultPrevented || event.repeat || event.isComposing) return;
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (isTyping(event.target) && !idleNumber(event)) return;
    if (document.querySelector("dialog[open]")) return;
    const key = normal(event);
    const action = Object.keys(USUAL).filter((name) => keyOf(name) === key).find(handler);
    if (action) event.preventDefault();
  });
}

/** Writes the keys into all <kbd data-key>. */
export function showKeys() {
  for (const node of document.querySelectorAll("kbd[data-key]")) {
    const action = node.getAttribute("data-key") ?? "";
    node.textContent = enabled ? keyName(keyOf(action)) : "";
  }
}

on("keys", showKeys);
