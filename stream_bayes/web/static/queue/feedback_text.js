// @ts-check
// Feedback on a submitted answer, in a sentence or two.

import { escapeHidden } from "../core/dom.js";
import { mainLabel } from "./prediction.js";
import { labelText, labelTitle, probability } from "../core/format.js";

/** The subject of a label request, or its id. @param {any} request */
export function titleOf(request) {
  return request.subject ? `“${escapeHidden(request.subject).slice(0, 80)}”` : `“${escapeHidden(request.id).slice(0, 60)}”`;
}

/** @param {any} request @param {any} label @param {{correction: boolean, predicted_label: any, differs: boolean | null}} receipt */
export function feedbackText(request, label, receipt) {
  if (label === request.abstain_label) return "Not sure. The request is closed; nothing is learned from it.";
  if (receipt.correction) return `Corrected: ${labelTitle(label)}.`;
  if (receipt.predicted_label === null || receipt.differs === null) return `${labelTitle(label)}.`;
  const main = mainLabel(request.selection);
  const two = Object.keys(request.selection.probabilities ?? {}).length === 2;
  if (main && two && probability(main[1]) === "0.50") return `${labelTitle(label)}. The filter was undecided (0.50).`;
  const how = main ? ` (${labelText(main[0])} ${probability(main[1])})` : "";
  if (receipt.differs) return `${labelTitle(label)}. The filter had predicted ${labelText(receipt.predicted_label)}${how}.`;
  return `${labelTitle(label)}, as the filter had predicted${how}.`;
}
