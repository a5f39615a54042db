// @ts-check
// Nodes, made one by one: no text of the server is ever parsed as markup.

const SVG = "http://www.w3.org/2000/svg";
// Controls, soft hyphen, zero-width and bidirectional characters: they cannot be seen, or they move others around.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

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
  dress(node, attributes);
  fill(node, ...children);
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
  dress(node, attributes);
  fill(node, ...children);
  return node;
}

/** @param {Element} node @param {Record<string, string | number | boolean | null | undefined>} attributes */
function dress(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
}

/** @param {Element} node @param {...Child} children */
function fill(node, ...children) {
  for (const child of children) if (child !== null && child !== undefined && child !== false) node.append(child);
}

/** Puts children in the place of all that a node had. @param {Element} node @param {...Child} children */
export function put(node, ...children) {
  node.replaceChildren();
  fill(node, ...children);
}

/**
 * The element with an id that the page surely has.
 * @param {string} id
 * @returns {any}
 */
export function the(id) {
  const node = document.getElementById(id);
  if (node === null) throw new Error(`the page has no element #${id}`);
  return node;
}

/** A badge in the place of a character that cannot be seen: its number, and its name for those who ask. @param {string} text */
export function mark(text) {
  const number = /^U\+[0-9A-F]+/.exec(text)?.[0];
  const label = number === undefined ? text : `hidden character ${text}`;
  return h("span", { class: "mark", role: "img", "aria-label": label, title: text }, number ?? text);
}

/**
 * Somebody else's text as nodes, with what cannot be seen made visible.
 * @param {string} text
 * @returns {Node}
 */
export function shown(text) {
  const nodes = h("bdi");
  let from = 0;
  for (const match of text.matchAll(UNSEEN)) {
    nodes.append(text.slice(from, match.index), mark(codePoint(match[0])));
    from = match.index + match[0].length;
  }
  nodes.append(text.slice(from));
  return nodes;
}

/** @param {string} character */
function codePoint(character) {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The same for attributes and messages, where no badge can stand. @param {string} text */
export function plain(text) {
  return text.replace(UNSEEN, (character) => `[${codePoint(character)}]`);
}
