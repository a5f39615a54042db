// @ts-check
// Feedback on a submitted answer, in a sentence or two.

import { plain } from "../core/dom.js";
import { meant } from "./opinion.js";
import { labelTitle, labelWord, probability } from "../core/words.js";

/** A question by its subject. @param {any} question */
export function titleOf(question) {
  return question.subject ? `“${plain(question.subject).slice(0, 80)}”` : `“${plain(question.id).slice(0, 60)}”`;
}

/** @param {any} question @param {any} label @param {{correction: boolean, guess: any, differs: boolean | null}} receipt */
export function feedbackText(question, label, receipt) {
  if (label === question.abstain_label) return "Not sure. Noted; nothing is learned from it.";
  if (receipt.correction) return `Corrected: ${labelTitle(label)}.`;
  if (receipt.guess === null || receipt.differs === null) return `${labelTitle(label)}.`;
  const about = meant(question.asked);
  const two = Object.keys(question.asked.probabilities ?? {}).length === 2;
  if (about && two && probability(about[1]) === "0.50") return `${labelTitle(label)}. The filter had no guess (0.50).`;
  const how = about ? ` (${labelWord(about[0])} ${probability(about[1])})` : "";
  if (receipt.differs) return `${labelTitle(label)}. The filter had guessed ${labelWord(receipt.guess)}${how}.`;
  return `${labelTitle(label)}, as the filter had guessed${how}.`;
}
