// @ts-check
// DOM nodes, built one by one: no text of the server is ever parsed as markup.

const SVG = "http://www.w3.org/2000/svg";
// Control, soft hyphen, zero-width and bidirectional characters: invisible, or they reorder the text.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number | boolean | null | undefined>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  setAttributes(node, attributes);
  appendChildren(node, ...children);
  return node;
}

/**
 * @param {string} tag
 * @param {Record<string, string | number | boolean | null | undefined>} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  const node = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  setAttributes(node, attributes);
  appendChildren(node, ...children);
  return node;
}

/** @param {Element} node @param {Record<string, string | number | boolean | null | undefined>} attributes */
function setAttributes(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
}

/** @param {Element} node @param {...Child} children */
function appendChildren(node, ...children) {
  for (const child of children) if (child !== null && child !== undefined && child !== false) node.append(child);
}

/** Replaces all children of a node. @param {Element} node @param {...Child} children */
export function setChildren(node, ...children) {
  node.replaceChildren();
  appendChildren(node, ...children);
}

/**
 * The element with an id; an error if the page has none.
 * @param {string} id
 * @returns {any}
 */
export function byId(id) {
  const node = document.getElementById(id);
  if (node === null) throw new Error(`the page has no element #${id}`);
  return node;
}

/** A badge in place of a hidden character: its code point, with the name in the tooltip. @param {string} text */
export function hiddenMark(text) {
  const number = /^U\+[0-9A-F]+/.exec(text)?.[0];
  const label = number === undefined ? text : `hidden character ${text}`;
  return h("span", { class: "mark", role: "img", "aria-label": label, title: text }, number ?? text);
}

/**
 * Untrusted text as nodes, with hidden characters made visible.
 * @param {string} text
 * @returns {Node}
 */
export function visibleText(text) {
  const nodes = h("bdi");
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    nodes.append(text.slice(from, match.index), hiddenMark(codePoint(match[0])));
    from = match.index + match[0].length;
  }
  nodes.append(text.slice(from));
  return nodes;
}

/** @param {string} character */
function codePoint(character) {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Untrusted text for attributes and messages, with hidden characters as code points. @param {string} text */
export function escapeHidden(text) {
  return text.replace(HIDDEN, (character) => `[${codePoint(character)}]`);
}
