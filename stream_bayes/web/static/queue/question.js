// @ts-check
// A question as it is read: sender, subject and text, all of it inert.

import { h, mark, put, shown, the } from "../core/dom.js";
import { link } from "./links.js";
import { count, date, fromNow, labelWord, size } from "../core/words.js";

// Characters from which on a subject is folded.
const LONG = 300;

/** @param {any} question */
export function showQuestion(question) {
  again(question);
  subject(question);
  put(the("sender"), question.sender ? shown(question.sender) : h("span", { class: "soft" }, isMail(question) ? "No sender" : ""));
  put(the("facts"), ...facts(question));
  put(the("text"), ...body(question));
  put(the("below"), ...below(question));
  the("question").dataset.place = `${question.place.partition}/${question.place.offset}`;
}

/** @param {any} question */
function isMail(question) {
  return (question.content ?? (question.features ? "features" : "mail")) === "mail";
}

/** The subject, or the id of what has none; a long one in four lines until asked. @param {any} question */
function subject(question) {
  const none = isMail(question) ? h("span", { class: "soft" }, "No subject") : shown(question.id);
  const long = (question.subject?.length ?? 0) > LONG;
  put(the("subject"), question.subject ? shown(question.subject) : none);
  the("subject").classList.toggle("folded", long);
  the("subject-all").hidden = !long;
}

export function startQuestion() {
  the("subject-all").addEventListener("click", () => {
    the("subject").classList.remove("folded");
    the("subject-all").hidden = true;
  });
}

/** @param {any} question */
function again({ answer, abstain_label }) {
  const node = the("again");
  node.hidden = !answer;
  const said = answer?.label === abstain_label ? "not sure" : labelWord(answer?.label ?? "");
  put(node, answer ? `You said ${said}. Choose again, or skip to keep it.` : "");
}

/** @param {any} question */
function facts(question) {
  const { features } = question;
  const parts = [h("span", {}, features ? count(Object.keys(features).length, "feature") : size(question.size))];
  const { at, expires_at: until } = question.asked;
  if (at) parts.push(h("time", { datetime: at, title: date(at) }, `asked ${fromNow(at)}`));
  if (until) parts.push(h("time", { datetime: until, title: date(until) }, `closes ${fromNow(until)}`));
  if (question.subject || isMail(question)) parts.push(h("span", { class: "id" }, shown(question.id)));
  return parts;
}

/** @param {any} question */
function body(question) {
  if (question.missing) {
    return [h("p", { class: "missing" }, h("strong", {}, "It cannot be shown. "), question.missing, " You may skip it.")];
  }
  const parts = question.pieces.map(piece);
  if (question.features) parts.push(table(question.features));
  if (parts.length === 0) parts.push(h("p", { class: "soft" }, "It has no text."));
  return parts;
}

/** @param {{kind: string, text: string, host: string | null, url: string | null}} one */
export function piece(one) {
  if (one.kind === "mark") return mark(one.text);
  if (one.kind === "link") return link(one);
  return shown(one.text);
}

/** @param {Record<string, string>} features */
function table(features) {
  const rows = Object.entries(features).map(([name, value]) =>
    h("tr", {}, h("th", { scope: "row" }, shown(name)), h("td", {}, shown(value))),
  );
  const head = h("tr", {}, h("th", { scope: "col" }, "Feature"), h("th", { scope: "col" }, "Value"));
  return h("table", { class: "features" }, h("thead", {}, head), h("tbody", {}, ...rows));
}

/** @param {any} question */
function below(question) {
  const parts = [];
  if (question.cut) parts.push(h("p", { class: "cut", id: "cut" }, "Only the beginning is shown."));
  if (question.attachments.length > 0) {
    const names = question.attachments.map((/** @type {string} */ name) => h("li", {}, shown(name)));
    parts.push(
      h("h3", {}, question.attachments.length === 1 ? "Attachment" : "Attachments"),
      h("ul", { class: "attachments", id: "attachments" }, ...names),
      h("p", { class: "soft small" }, "Named only: the page never opens them."),
    );
  }
  return parts;
}
