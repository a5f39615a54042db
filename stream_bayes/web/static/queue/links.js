// @ts-check
// A link of a mail: opened only by a second click, shown with the host that it leads to.

import { h, visibleText } from "../core/dom.js";

// A host in a text, with the user name before it that a browser would ignore.
const HOSTS = /(?:https?:\/\/)?(?:[^\s/\\@]*@)?((?:[\p{L}\p{N}_-]+\.)+[\p{L}][\p{L}\p{N}-]+)/giu;
// Hosts are searched in the first characters of a link's text.
const MAX_SEARCHED = 2000;
// File names look like hosts.
const FILES = /\.(?:pdf|txt|docx?|xlsx?|pptx?|html?|php|aspx?|js|exe|zip|rar|gz|jpe?g|png|gif|svg|csv|ics|eml|mp[34])$/i;

/** @param {{text: string, host: string | null, url: string | null}} span */
export function renderLink({ text, host, url }) {
  const button = h("button", { type: "button", class: "link", "aria-expanded": "false" }, visibleText(text));
  const more = h("span", { class: "link-more", hidden: true });
  const safe = openable(url);
  more.append(h("span", { class: "url" }, visibleText(safe?.address ?? text)), " ");
  more.append(safe ? openLink(safe.address, safe.host) : h("span", { class: "soft" }, "cannot be opened from here"));
  button.addEventListener("click", () => {
    more.hidden = !more.hidden;
    button.setAttribute("aria-expanded", String(!more.hidden));
  });
  const badge = host ? hostBadge(text, host, url) : null;
  return h("span", { class: "link-span" }, button, badge ? " " : null, badge, more);
}

/** The host of a link: null if the text already names it, a warning if the text names another. @param {string} text @param {string} host @param {string | null} url */
function hostBadge(text, host, url) {
  const warning = linkWarning(text, host, url);
  const name = h("span", { class: "host", title: "Where it really leads" }, visibleText(host));
  if (warning !== "") return h("span", { class: "host-warning", title: warning }, warningSign(), " leads to ", name);
  return isAddressOf(text, host) ? null : name;
}

/** Why a link is suspicious, or an empty text. @param {string} text @param {string} host @param {string | null} url */
function linkWarning(text, host, url) {
  if (/(?:^|\.)xn--/i.test(host)) return "Its host has letters of other scripts, which may look like others.";
  if (/:\/\/[^/\s]*@/.test(url ?? "") || /:\/\/[^/\s]*@/.test(text)) return "What stands before the @ is not its host.";
  const others = hostsIn(text).filter((name) => !isWithin(host, name));
  return others.length > 0 ? `Its text names another host: ${others[0]}` : "";
}

/** The hosts named in the beginning of a text: the time to find them grows faster than the text. @param {string} text */
function hostsIn(text) {
  const found = [...text.slice(0, MAX_SEARCHED).matchAll(HOSTS)].filter(([whole, name]) => whole.includes("://") || !FILES.test(name));
  return found.map(([, name]) => name.toLowerCase());
}

/** Whether a host is the named one or one of its subdomains. @param {string} host @param {string} name */
function isWithin(host, name) {
  const bare = name.replace(/^www\./, "");
  const own = host.toLowerCase();
  return own === name || own === bare || own.endsWith(`.${bare}`);
}

/** Whether a text is the host or an address of it. @param {string} text @param {string} host */
function isAddressOf(text, host) {
  const found = /^(?:https?:\/\/)?(\[[^\]\s]*\]|[^\s/?#:\\]+)(?::\d+)?(?:[/?#]\S*)?$/i.exec(text.trim());
  return found !== null && found[1].toLowerCase() === host.toLowerCase();
}

function warningSign() {
  return h("span", { class: "warning-sign", role: "img", "aria-label": "Warning:" }, "!");
}

/** The address and its host if a browser may open it, else null. @param {string | null} url */
function openable(url) {
  if (!url) return null;
  try {
    const { protocol, host } = new URL(url);
    return ["http:", "https:"].includes(protocol) ? { address: url, host } : null;
  } catch {
    return null;
  }
}

/** @param {string} url @param {string} host */
function openLink(url, host) {
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow", class: "open-link" }, `Open ${host} in a new tab`);
}
