// @ts-check
// What an answer did, in a sentence or two.

import { plain } from "./dom.js";
import { labelKey, labelTitle, labelWord, probability } from "./words.js";

/** A question by its subject. @param {any} question */
export function titleOf(question) {
  return question.subject ? `“${plain(question.subject).slice(0, 80)}”` : `“${plain(question.id).slice(0, 60)}”`;
}

/** @param {any} question @param {any} label @param {{correction: boolean, guess: any, differs: boolean | null}} sent */
export function after(question, label, sent) {
  if (label === question.unsure) return "Not sure. Noted; nothing is learned from it.";
  if (sent.correction) return `Corrected: ${labelTitle(label)}.`;
  if (sent.guess === null || sent.differs === null) return `${labelTitle(label)}.`;
  const p = question.asked.probabilities?.[labelKey(sent.guess)];
  const how = p === undefined ? "" : ` (${probability(p)})`;
  if (sent.differs) return `${labelTitle(label)}. The filter had guessed ${labelWord(sent.guess)}${how}.`;
  return `${labelTitle(label)}, as the filter had guessed${how}.`;
}
