// @ts-check
// A link of a mail: shut until asked, and it says where it really leads.

import { h, shown } from "../core/dom.js";

// What looks like a host in a text, with the user's name before it that a browser would ignore.
const HOSTS = /(?:https?:\/\/)?(?:[^\s/\\@]*@)?((?:[\p{L}\p{N}_-]+\.)+[\p{L}][\p{L}\p{N}-]+)/giu;
// Characters of a link's text in which hosts are looked for.
const LONGEST = 2000;
// Names of files look like hosts.
const FILES = /\.(?:pdf|txt|docx?|xlsx?|pptx?|html?|php|aspx?|js|exe|zip|rar|gz|jpe?g|png|gif|svg|csv|ics|eml|mp[34])$/i;

/** @param {{text: string, host: string | null, url: string | null}} one */
export function link({ text, host, url }) {
  const button = h("button", { type: "button", class: "link", "aria-expanded": "false" }, shown(text));
  const more = h("span", { class: "link-more", hidden: true });
  const safe = openable(url);
  more.append(h("span", { class: "url" }, shown(safe?.written ?? text)), " ");
  more.append(safe ? door(safe.written, safe.host) : h("span", { class: "soft" }, "cannot be opened from here"));
  button.addEventListener("click", () => {
    more.hidden = !more.hidden;
    button.setAttribute("aria-expanded", String(!more.hidden));
  });
  const tag = host ? chip(text, host, url) : null;
  return h("span", { class: "link-piece" }, button, tag ? " " : null, tag, more);
}

/** Where it leads: nothing where the text says so already, a warning where the text lies. @param {string} text @param {string} host @param {string | null} url */
function chip(text, host, url) {
  const trick = tricks(text, host, url);
  const name = h("span", { class: "host", title: "Where it really leads" }, shown(host));
  if (trick !== "") return h("span", { class: "leads", title: trick }, sign(), " leads to ", name);
  return says(text, host) ? null : name;
}

/** Why a link is not to be trusted, or nothing. @param {string} text @param {string} host @param {string | null} url */
function tricks(text, host, url) {
  if (/(?:^|\.)xn--/i.test(host)) return "Its host has letters of other scripts, which may look like others.";
  if (/:\/\/[^/\s]*@/.test(url ?? "") || /:\/\/[^/\s]*@/.test(text)) return "What stands before the @ is not its host.";
  const others = named(text).filter((one) => !belongs(host, one));
  return others.length > 0 ? `Its text names another host: ${others[0]}` : "";
}

/** The hosts that the beginning of a text names: the time to find them grows faster than the text. @param {string} text */
function named(text) {
  const found = [...text.slice(0, LONGEST).matchAll(HOSTS)].filter(([whole, name]) => whole.includes("://") || !FILES.test(name));
  return found.map(([, name]) => name.toLowerCase());
}

/** Whether a host is the one that was named, or a part of it. @param {string} host @param {string} name */
function belongs(host, name) {
  const bare = name.replace(/^www\./, "");
  const own = host.toLowerCase();
  return own === name || own === bare || own.endsWith(`.${bare}`);
}

/** Whether a text is that host, or an address there. @param {string} text @param {string} host */
function says(text, host) {
  const found = /^(?:https?:\/\/)?(\[[^\]\s]*\]|[^\s/?#:\\]+)(?::\d+)?(?:[/?#]\S*)?$/i.exec(text.trim());
  return found !== null && found[1].toLowerCase() === host.toLowerCase();
}

function sign() {
  return h("span", { class: "sign", role: "img", "aria-label": "Warning:" }, "!");
}

/** The address and its host, if it is one that a browser may open. @param {string | null} url */
function openable(url) {
  if (!url) return null;
  try {
    const { protocol, host } = new URL(url);
    return ["http:", "https:"].includes(protocol) ? { written: url, host } : null;
  } catch {
    return null;
  }
}

/** @param {string} url @param {string} host */
function door(url, host) {
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow", class: "door" }, `Open ${host} in a new tab`);
}
