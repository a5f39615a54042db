// @ts-check
// The answer bar: a button for each label, or a field where any label or number is possible.

import { byId, h, setChildren } from "../core/dom.js";
import { drawKeys } from "../core/help.js";
import { isTyping, showKeys } from "../core/keys.js";
import { hue, labelKey, labelTitle } from "../core/format.js";

const MAX_KEYS = 9;

/** @type {(label: any) => void} */
let onAnswer = () => undefined;
/** @type {any[]} */
let choices = [];
let drawn = "";

/** @param {{submit: (label: any) => void, unsure: () => void, skip: () => void, undo: () => void}} actions */
export function startAnswers(actions) {
  onAnswer = actions.submit;
  byId("unsure").addEventListener("click", actions.unsure);
  byId("skip").addEventListener("click", actions.skip);
  byId("undo").addEventListener("click", actions.undo);
  byId("answer-form").addEventListener("submit", submitField);
  byId("answer-field").addEventListener("input", () => showProblem(""));
  addEventListener("keydown", focusOnDigit);
}

/** A digit that is typed anywhere goes into the field. @param {KeyboardEvent} event */
function focusOnDigit(event) {
  const field = byId("answer-field");
  if (field.dataset.numbers !== "true" || field.offsetParent === null || isTyping(event.target)) return;
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (/^[\d.,\u2212-]$/.test(event.key)) field.focus();
}

/** The label of a key's action, or undefined. @param {string} action */
export function choiceOf(action) {
  const index = choices.findIndex((_, number) => actionOf(number) === action);
  return index < 0 ? undefined : choices[index];
}

/** @param {number} number */
function actionOf(number) {
  if (isMail()) return String(choices[number]);
  return number < MAX_KEYS ? `choice ${number + 1}` : "";
}

function isMail() {
  return choices.length > 0 && choices.every((choice) => choice === "spam" || choice === "ham");
}

/** @param {any} request */
export function showChoices(request) {
  const field = request.numbers || request.choices.length === 0;
  const content = JSON.stringify([field, request.numbers, request.choices]);
  byId("unsure").dataset.answer = request.abstain_label ?? "unsure";
  byId("unsure").hidden = request.abstain_label === null;
  byId("answers").classList.remove("waiting");
  if (content === drawn) return;
  drawn = content;
  choices = field ? [] : [...request.choices].sort(spamFirst);
  byId("answer-form").hidden = !field;
  byId("answer-field-label").textContent = request.numbers ? "The number" : "The label";
  showProblem("");
  byId("answer-field").inputMode = request.numbers ? "decimal" : "text";
  byId("answer-field").dataset.numbers = String(request.numbers);
  setChildren(byId("choices"), ...choices.map(choiceButton));
  showKeys();
  drawKeys();
}

/** @param {any} one @param {any} other */
function spamFirst(one, other) {
  return one === "spam" && other === "ham" ? -1 : one === "ham" && other === "spam" ? 1 : 0;
}

/** @param {any} choice @param {number} number */
function choiceButton(choice, number) {
  const action = actionOf(number);
  const button = h(
    "button",
    { type: "button", class: "answer", "data-answer": labelKey(choice), "data-hue": hue(choice) },
    labelTitle(choice),
    action ? " " : null,
    action ? h("kbd", { "data-key": action }) : null,
  );
  button.addEventListener("click", () => onAnswer(choice));
  return button;
}

/** @param {Event} event */
function submitField(event) {
  event.preventDefault();
  const field = byId("answer-field");
  const text = field.value.trim();
  const number = field.dataset.numbers === "true";
  const label = number ? parseNumber(text) : text;
  if (label === null || label === "") showProblem(number ? "A number is needed, such as 12 or 3.5." : "Type a label, or skip.");
  else onAnswer(label);
}

/** Parses a number with a decimal point or comma; null if it is none. @param {string} text */
function parseNumber(text) {
  const plain = text.replace("\u2212", "-").replace(",", ".");
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) || !Number.isFinite(Number(plain))) return null;
  return Number(plain);
}

/** @param {string} words */
function showProblem(words) {
  const field = byId("answer-field");
  field.setCustomValidity(words);
  field.setAttribute("aria-invalid", String(words !== ""));
  setChildren(byId("answer-problem"), words);
}

/** The text in the field that was not sent. */
export function typedText() {
  return byId("answer-form").hidden ? "" : byId("answer-field").value.trim();
}

export function clearField() {
  byId("answer-field").value = "";
  showProblem("");
}

/**
 * @param {{request: any, busy: boolean, delayed: boolean, undoable: boolean}} state
 */
export function updateButtons({ request, busy, delayed, undoable }) {
  const idle = request !== null && !busy && !delayed;
  byId("answers").classList.toggle("idle", request === null && !busy);
  const earlier = request?.answer?.label;
  const labelled = earlier !== undefined && earlier !== null && earlier !== request.abstain_label;
  // aria-disabled, unlike disabled, keeps the focus between two requests.
  for (const button of document.querySelectorAll("#choices button, #answer-form button")) setEnabled(button, idle);
  setEnabled(byId("unsure"), idle && !labelled);
  byId("unsure").classList.toggle("unavailable", labelled);
  setEnabled(byId("skip"), idle);
  setEnabled(byId("undo"), !busy && undoable);
  const note = byId("unsure-note");
  note.hidden = !labelled;
  setChildren(note, labelled ? "“Not sure” is not possible here: a label that was sent can be corrected, not withdrawn." : "");
  for (const button of document.querySelectorAll("#choices button")) {
    button.setAttribute("aria-pressed", String(earlier !== undefined && button.getAttribute("data-answer") === labelKey(earlier)));
  }
}

/** @param {any} button @param {boolean} possible */
function setEnabled(button, possible) {
  button.disabled = false;
  button.setAttribute("aria-disabled", String(!possible));
}
