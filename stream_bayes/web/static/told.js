// @ts-check
// What an answer did, in a sentence or two.

import { plain } from "./dom.js";
import { meant } from "./opinion.js";
import { labelTitle, labelWord, probability } from "./words.js";

/** A question by its subject. @param {any} question */
export function titleOf(question) {
  return question.subject ? `“${plain(question.subject).slice(0, 80)}”` : `“${plain(question.id).slice(0, 60)}”`;
}

/** @param {any} question @param {any} label @param {{correction: boolean, guess: any, differs: boolean | null}} sent */
export function after(question, label, sent) {
  if (label === question.abstain_label) return "Not sure. Noted; nothing is learned from it.";
  if (sent.correction) return `Corrected: ${labelTitle(label)}.`;
  if (sent.guess === null || sent.differs === null) return `${labelTitle(label)}.`;
  const about = meant(question.asked);
  const two = Object.keys(question.asked.probabilities ?? {}).length === 2;
  if (about && two && probability(about[1]) === "0.50") return `${labelTitle(label)}. The filter had no guess (0.50).`;
  const how = about ? ` (${labelWord(about[0])} ${probability(about[1])})` : "";
  if (sent.differs) return `${labelTitle(label)}. The filter had guessed ${labelWord(sent.guess)}${how}.`;
  return `${labelTitle(label)}, as the filter had guessed${how}.`;
}
