// @ts-check
// Key bindings: the key of each action, and when keys are handled.

import { emit, on } from "./event_bus.js";
import { loadSetting, removeSetting, saveSetting } from "./settings_store.js";

/** @type {Record<string, string>} */
const DEFAULT_KEYS = { spam: "s", ham: "h", unsure: "n", skip: "k", undo: "u", help: "?" };
for (let digit = 1; digit <= 9; digit += 1) DEFAULT_KEYS[`choice ${digit}`] = String(digit);

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
let customKeys = loadSetting("keys", {});
let enabled = loadSetting("keys_on", true);

/** @param {string} action */
export function keyOf(action) {
  const custom = customKeys[action];
  return typeof custom === "string" ? custom : DEFAULT_KEYS[action];
}

/** The name of a key on the page. @param {string} key */
export function keyName(key) {
  return { " ": "Space", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" }[key] ?? key;
}

/** @param {KeyboardEvent} event */
function normalizeKey(event) {
  return event.key.length === 1 ? event.key.toLowerCase() : event.key;
}

/** Whether a key can be bound to an action. @param {KeyboardEvent} event */
function isBindable(event) {
  const known = event.key.length === 1 || event.key.startsWith("Arrow");
  return known && event.key !== " " && !event.ctrlKey && !event.altKey && !event.metaKey;
}

/** The last binding that was refused because another action has the key. */
let refused = "";

/**
 * Binds a key to an action, or returns why it cannot; a key of another action is swapped when it is pressed twice.
 * @param {string} action @param {KeyboardEvent} event
 * @returns {string | null}
 */
export function rebind(action, event) {
  if (!isBindable(event)) return "That key cannot be used. Take a letter, a digit, a sign or an arrow.";
  const key = normalizeKey(event);
  const other = Object.keys(DEFAULT_KEYS).find((name) => name !== action && keyOf(name) === key);
  const binding = `${action} ${key}`;
  if (other && refused !== binding) {
    refused = binding;
    return `“${keyName(key)}” already means ${MEANING[other]}. Press it once more to swap the two, or press another key.`;
  }
  refused = "";
  if (other) customKeys = { ...customKeys, [other]: keyOf(action) };
  customKeys = { ...customKeys, [action]: key };
  saveSetting("keys", customKeys);
  emit("keys");
  return null;
}

export function resetKeys() {
  customKeys = {};
  removeSetting("keys");
  emit("keys");
}

export function keysOn() {
  return enabled;
}

/** @param {boolean} value */
export function setKeysOn(value) {
  enabled = value;
  saveSetting("keys_on", value);
  emit("keys");
}

/** @param {EventTarget | null} target */
export function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button", "submit"].includes(target.type);
  return target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName);
}

/** Whether a letter is typed into an empty field for numbers, where it can only be a key binding. @param {KeyboardEvent} event */
function isLetterInNumberField({ target, key }) {
  return target instanceof HTMLInputElement && target.dataset.numbers === "true" && target.value === "" && /^\p{L}$/u.test(key);
}

/**
 * Handles key presses; the handler returns whether it ran the action.
 * @param {(action: string) => boolean} handler
 */
export function listenForKeys(handler) {
  addEventListener("keydown", (event) => {
    if (!enabled || event.defaultPrevented || event.repeat || event.isComposing) return;
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (isTyping(event.target) && !isLetterInNumberField(event)) return;
    if (document.querySelector("dialog[open]")) return;
    const key = normalizeKey(event);
    const action = Object.keys(DEFAULT_KEYS).filter((name) => keyOf(name) === key).find(handler);
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
