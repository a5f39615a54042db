// @ts-check
// A question as it is read: sender, subject and text, all of it inert.

import { h, mark, put, shown, the } from "./dom.js";
import { date, fromNow, labelWord, size } from "./words.js";

/** @param {any} question */
export function showQuestion(question) {
  again(question);
  put(the("subject"), question.subject ? shown(question.subject) : h("span", { class: "soft" }, "No subject"));
  put(the("sender"), question.sender ? shown(question.sender) : h("span", { class: "soft" }, question.features ? "" : "No sender"));
  put(the("facts"), ...facts(question));
  put(the("text"), ...body(question));
  put(the("below"), ...below(question));
  the("question").dataset.place = `${question.place.partition}/${question.place.offset}`;
}

/** @param {any} question */
function again({ answer, unsure }) {
  const node = the("again");
  node.hidden = !answer;
  const said = answer?.label === unsure ? "not sure" : labelWord(answer?.label ?? "");
  put(node, answer ? `You said ${said}. Choose again, or skip to keep it.` : "");
}

/** @param {any} question */
function facts(question) {
  const parts = [h("span", {}, size(question.size))];
  const { at, expires_at: until } = question.asked;
  if (at) parts.push(h("time", { datetime: at, title: date(at) }, `asked ${fromNow(at)}`));
  if (until) parts.push(h("time", { datetime: until, title: date(until) }, `closes ${fromNow(until)}`));
  parts.push(h("span", { class: "id" }, shown(question.id)));
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

/** @param {{text: string, host: string | null, url: string | null}} one */
function link({ text, host, url }) {
  const button = h("button", { type: "button", class: "link", "aria-expanded": "false" }, shown(text));
  const more = h("span", { class: "link-more", hidden: true });
  const safe = openable(url);
  const target = safe ?? text;
  more.append(h("span", { class: "url" }, shown(target)));
  if (safe !== null) more.append(" ", door(safe));
  else more.append(" ", h("span", { class: "soft" }, "cannot be opened from here"));
  button.addEventListener("click", () => {
    more.hidden = !more.hidden;
    button.setAttribute("aria-expanded", String(!more.hidden));
  });
  const tag = host ? h("span", { class: "host", title: "Where it really leads" }, shown(host)) : null;
  return h("span", { class: "link-piece" }, button, tag ? " " : null, tag, more);
}

/** The address, if it is one that a browser may open. @param {string | null} url */
function openable(url) {
  if (!url) return null;
  try {
    return ["http:", "https:"].includes(new URL(url).protocol) ? url : null;
  } catch {
    return null;
  }
}

/** @param {string} url */
function door(url) {
  return h(
    "a",
    { href: url, target: "_blank", rel: "noopener noreferrer nofollow", class: "door" },
    "Open it in a new tab: this leaves the page",
  );
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
