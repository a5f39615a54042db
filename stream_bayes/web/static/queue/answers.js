// @ts-check
// The bar with the answers: buttons with whole words, or a field where any label or number is possible.

import { h, put, the } from "../core/dom.js";
import { drawKeys } from "../core/help.js";
import { isTyping, showKeys } from "../core/keys.js";
import { hue, labelKey, labelTitle } from "../core/words.js";

const KEYED = 9;

/** @type {(label: any) => void} */
let answered = () => undefined;
/** @type {any[]} */
let choices = [];
let drawn = "";

/** @param {{say: (label: any) => void, unsure: () => void, skip: () => void, undo: () => void}} actions */
export function startAnswers(actions) {
  answered = actions.say;
  the("unsure").addEventListener("click", actions.unsure);
  the("skip").addEventListener("click", actions.skip);
  the("undo").addEventListener("click", actions.undo);
  the("answer-form").addEventListener("submit", submitted);
  the("answer-field").addEventListener("input", () => complain(""));
  addEventListener("keydown", numeral);
}

/** A figure typed anywhere goes into the field. @param {KeyboardEvent} event */
function numeral(event) {
  const field = the("answer-field");
  if (field.dataset.numbers !== "true" || field.offsetParent === null || isTyping(event.target)) return;
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (/^[\d.,\u2212-]$/.test(event.key)) field.focus();
}

/** The label behind a key's action, or undefined. @param {string} action */
export function choiceOf(action) {
  const index = choices.findIndex((_, number) => actionOf(number) === action);
  return index < 0 ? undefined : choices[index];
}

/** @param {number} number */
function actionOf(number) {
  if (isMail()) return String(choices[number]);
  return number < KEYED ? `choice ${number + 1}` : "";
}

function isMail() {
  return choices.length > 0 && choices.every((choice) => choice === "spam" || choice === "ham");
}

/** @param {any} question */
export function offer(question) {
  const field = question.numbers || question.choices.length === 0;
  const wanted = JSON.stringify([field, question.numbers, question.choices]);
  the("unsure").dataset.answer = question.abstain_label ?? "unsure";
  the("unsure").hidden = question.abstain_label === null;
  the("answers").classList.remove("waiting");
  if (wanted === drawn) return;
  drawn = wanted;
  choices = field ? [] : [...question.choices].sort(spamFirst);
  the("answer-form").hidden = !field;
  the("answer-field-label").textContent = question.numbers ? "The number" : "The label";
  complain("");
  the("answer-field").inputMode = question.numbers ? "decimal" : "text";
  the("answer-field").dataset.numbers = String(question.numbers);
  put(the("choices"), ...choices.map(choiceButton));
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
  button.addEventListener("click", () => answered(choice));
  return button;
}

/** @param {Event} event */
function submitted(event) {
  event.preventDefault();
  const field = the("answer-field");
  const text = field.value.trim();
  const number = field.dataset.numbers === "true";
  const label = number ? numberOf(text) : text;
  if (label === null || label === "") complain(number ? "A number is needed, such as 12 or 3.5." : "Say something, or skip.");
  else answered(label);
}

/** With a decimal point or comma; null where it is no number. @param {string} text */
function numberOf(text) {
  const plain = text.replace("\u2212", "-").replace(",", ".");
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) || !Number.isFinite(Number(plain))) return null;
  return Number(plain);
}

/** @param {string} words */
function complain(words) {
  const field = the("answer-field");
  field.setCustomValidity(words);
  field.setAttribute("aria-invalid", String(words !== ""));
  put(the("answer-problem"), words);
}

/** What stands in the field and was not sent. */
export function typed() {
  return the("answer-form").hidden ? "" : the("answer-field").value.trim();
}

export function clearField() {
  the("answer-field").value = "";
  complain("");
}

/**
 * @param {{question: any, busy: boolean, early: boolean, undoable: boolean}} state
 */
export function enable({ question, busy, early, undoable }) {
  const idle = question !== null && !busy && !early;
  the("answers").classList.toggle("idle", question === null && !busy);
  const said = question?.answer?.label;
  const unsaid = said !== undefined && said !== null && said !== question.abstain_label;
  // aria-disabled keeps the focus where it is between two questions.
  for (const button of document.querySelectorAll("#choices button, #answer-form button")) able(button, idle);
  able(the("unsure"), idle && !unsaid);
  the("unsure").classList.toggle("never", unsaid);
  able(the("skip"), idle);
  able(the("undo"), !busy && undoable);
  const note = the("unsure-note");
  note.hidden = !unsaid;
  put(note, unsaid ? "“Not sure” is not possible here: a label that was sent can be corrected, not unsaid." : "");
  for (const button of document.querySelectorAll("#choices button")) {
    button.setAttribute("aria-pressed", String(said !== undefined && button.getAttribute("data-answer") === labelKey(said)));
  }
}

/** @param {any} button @param {boolean} possible */
function able(button, possible) {
  button.disabled = false;
  button.setAttribute("aria-disabled", String(!possible));
}
