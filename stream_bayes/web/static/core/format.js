// @ts-check
// Formatting of numbers, dates and labels.

import { escapeHidden } from "./dom.js";

const LOCALE = "en-GB";
const WHOLE = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat(LOCALE, { notation: "compact", maximumFractionDigits: 1 });
const CLOCK = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit" });
const DATE = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeStyle: "short" });
const RELATIVE = new Intl.RelativeTimeFormat(LOCALE, { numeric: "always" });
// The engine quotes a text label that could be read as JSON of another type.
const LIKE_JSON = /^("|-?\d+$|-?\d.*[.eE]|true$|false$)/;

/** @param {number} value */
export const whole = (value) => WHOLE.format(value);
/** @param {number} value */
export const short = (value) => (Math.abs(value) < 10000 ? WHOLE.format(value) : SHORT.format(value));
/** @param {string} at */
export const date = (at) => DATE.format(new Date(at));
/** @param {string | Date | number} at */
export const clock = (at) => CLOCK.format(new Date(at));

/** A probability, never rounded to certainty. @param {number} p */
export function probability(p) {
  if (p > 0 && p < 0.005) return p < 0.0005 ? "<0.001" : p.toFixed(3);
  if (p < 1 && p > 0.995) return p > 0.9995 ? ">0.999" : p.toFixed(3);
  return p.toFixed(2);
}

/** Three significant digits. @param {number} value */
export function figure(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(1).replace("e+", "e");
  if (size >= 1000) return WHOLE.format(value);
  return String(Number(value.toPrecision(3)));
}

/** @param {number} share */
export function percent(share) {
  const value = share * 100;
  return `${value < 10 && value > 0 ? value.toFixed(1) : Math.round(value)} %`;
}

/** A number with its sign. @param {number} value */
export function signed(value) {
  const far = Math.abs(value);
  const digits = value.toFixed(far < 0.1 ? 3 : far < 10 ? 2 : 1);
  if (Number(digits) === 0) return "0";
  return value < 0 ? digits.replace("-", "\u2212") : `+${digits}`;
}

/** @param {number} count @param {string} one @param {string} [many] */
export function count(count, one, many = `${one}s`) {
  return `${whole(count)} ${count === 1 ? one : many}`;
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return count(bytes, "byte");
  if (bytes < 1e6) return `${(bytes / 1000).toFixed(bytes < 1e4 ? 1 : 0)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** A duration. @param {number} seconds */
export function duration(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return count(Math.round(seconds / 86400), "day");
}

/** "3 minutes ago", "in 2 hours". @param {string} at */
export function fromNow(at) {
  const seconds = (new Date(at).getTime() - Date.now()) / 1000;
  const far = Math.abs(seconds);
  if (far < 60) return RELATIVE.format(Math.round(seconds), "second");
  if (far < 3600) return RELATIVE.format(Math.round(seconds / 60), "minute");
  if (far < 86400) return RELATIVE.format(Math.round(seconds / 3600), "hour");
  return RELATIVE.format(Math.round(seconds / 86400), "day");
}

/** A label as the key of probabilities. @param {string | number | boolean} label */
export function labelKey(label) {
  if (typeof label !== "string") return JSON.stringify(label);
  return LIKE_JSON.test(label) ? JSON.stringify(label) : label;
}

/** A label as text. @param {string | number | boolean} label */
export function labelText(label) {
  return escapeHidden(String(label));
}

/** Spam and ham with a capital, all others exactly as they are. @param {string | number | boolean} label */
export function labelTitle(label) {
  return label === "spam" ? "Spam" : label === "ham" ? "Ham" : labelText(label);
}

/** The hue of a label: orange for spam, blue for ham, none for others. @param {string | number | boolean} label */
export function hue(label) {
  return label === "spam" || label === "ham" ? label : "other";
}

/** A text with a capital and a full stop. @param {string} text */
export function sentence(text) {
  const trimmed = text.trim();
  return trimmed.charAt(0).toUpperCase() + trimmed.slice(1) + (/[.!?]$/.test(trimmed) ? "" : ".");
}
