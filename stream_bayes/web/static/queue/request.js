// @ts-check
// The observation of a label request: sender, subject and text. Nothing in it runs or loads.

import { byId, h, hiddenMark, setChildren, visibleText } from "../core/dom.js";
import { renderLink } from "./links.js";
import { count, date, fromNow, labelText, size } from "../core/format.js";

// Longer subjects are folded; in characters.
const LONG = 300;

/** @param {any} request */
export function showRequest(request) {
  earlierAnswer(request);
  subject(request);
  setChildren(byId("sender"), request.sender ? visibleText(request.sender) : h("span", { class: "soft" }, isMail(request) ? "No sender" : ""));
  setChildren(byId("facts"), ...facts(request));
  setChildren(byId("text"), ...body(request));
  setChildren(byId("below"), ...below(request));
  byId("request").dataset.place = `${request.place.partition}/${request.place.offset}`;
}

/** @param {any} request */
function isMail(request) {
  return (request.content ?? (request.features ? "features" : "mail")) === "mail";
}

/** The subject, or the id if there is none. A long subject is folded to four lines. @param {any} request */
function subject(request) {
  const none = isMail(request) ? h("span", { class: "soft" }, "No subject") : visibleText(request.id);
  const long = (request.subject?.length ?? 0) > LONG;
  setChildren(byId("subject"), request.subject ? visibleText(request.subject) : none);
  byId("subject").classList.toggle("folded", long);
  byId("subject-all").hidden = !long;
}

export function startRequestView() {
  byId("subject-all").addEventListener("click", () => {
    byId("subject").classList.remove("folded");
    byId("subject-all").hidden = true;
  });
}

/** The earlier answer to a reopened request. @param {any} request */
function earlierAnswer({ answer, abstain_label }) {
  const node = byId("earlier-answer");
  node.hidden = !answer;
  const label = answer?.label === abstain_label ? "not sure" : labelText(answer?.label ?? "");
  setChildren(node, answer ? `Your answer was ${label}. Choose again, or skip to keep it.` : "");
}

/** @param {any} request */
function facts(request) {
  const { features } = request;
  const parts = [h("span", {}, features ? count(Object.keys(features).length, "feature") : size(request.size))];
  const { at, expires_at: until } = request.selection;
  if (at) parts.push(h("time", { datetime: at, title: date(at) }, `requested ${fromNow(at)}`));
  if (until) parts.push(h("time", { datetime: until, title: date(until) }, `expires ${fromNow(until)}`));
  if (request.subject || isMail(request)) parts.push(h("span", { class: "id" }, visibleText(request.id)));
  return parts;
}

/** @param {any} request */
function body(request) {
  if (request.missing) {
    return [h("p", { class: "missing" }, h("strong", {}, "It cannot be shown. "), request.missing, " You may skip it.")];
  }
  const parts = request.spans.map(renderSpan);
  if (request.features) parts.push(table(request.features));
  if (parts.length === 0) parts.push(h("p", { class: "soft" }, "It has no text."));
  return parts;
}

/** @param {{kind: string, text: string, host: string | null, url: string | null}} span */
function renderSpan(span) {
  if (span.kind === "mark") return hiddenMark(span.text);
  if (span.kind === "link") return renderLink(span);
  return visibleText(span.text);
}

/** @param {Record<string, string>} features */
function table(features) {
  const rows = Object.entries(features).map(([name, value]) =>
    h("tr", {}, h("th", { scope: "row" }, visibleText(name)), h("td", {}, visibleText(value))),
  );
  const head = h("tr", {}, h("th", { scope: "col" }, "Feature"), h("th", { scope: "col" }, "Value"));
  return h("table", { class: "features" }, h("thead", {}, head), h("tbody", {}, ...rows));
}

/** @param {any} request */
function below(request) {
  const parts = [];
  if (request.cut) parts.push(h("p", { class: "cut", id: "cut" }, "Only the beginning is shown."));
  if (request.attachments.length > 0) {
    const names = request.attachments.map((/** @type {string} */ name) => h("li", {}, visibleText(name)));
    parts.push(
      h("h3", {}, request.attachments.length === 1 ? "Attachment" : "Attachments"),
      h("ul", { class: "attachments", id: "attachments" }, ...names),
      h("p", { class: "soft small" }, "Only their names are shown: the page never opens attachments."),
    );
  }
  return parts;
}
