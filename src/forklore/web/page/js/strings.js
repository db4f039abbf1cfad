/**
 * The words of the page, in the language of the reader.
 * @module
 */
import { printable } from "./printable.js";

export const LANGUAGES = ["en", "zh"];
const STORED = "forklore.language";

/** @type {Record<string, string>} */
let words = {};
/** @type {Record<string, string>} */
let source = {};
let current = "en";
/** @type {Intl.PluralRules} */
let plural = new Intl.PluralRules("en");
let figures = new Intl.NumberFormat("en");

/** @returns {string} the language that is shown */
export function language() {
  return current;
}

/** @returns {string} what the reader chose: a language, or "auto" */
export function chosenLanguage() {
  const stored = localStorage.getItem(STORED);
  return stored !== null && LANGUAGES.includes(stored) ? stored : "auto";
}

/** @returns {string} */
function wanted() {
  const chosen = chosenLanguage();
  if (chosen !== "auto") return chosen;
  for (const each of navigator.languages) {
    const short = each.toLowerCase().split("-")[0] ?? "";
    if (LANGUAGES.includes(short)) return short;
  }
  return "en";
}

/**
 * Loads the words; without the file of the language, English.
 * @returns {Promise<void>}
 */
export async function loadStrings() {
  const tag = wanted();
  const read = async (/** @type {string} */ each) => (await fetch(`/page/lang/${each}.json`)).json();
  [words, source] = await Promise.all([read(tag), tag === "en" ? {} : read("en")]);
  current = tag;
  plural = new Intl.PluralRules(tag);
  figures = new Intl.NumberFormat(tag);
  document.documentElement.lang = tag === "zh" ? "zh-CN" : tag;
}

/**
 * Remembers a language, or "auto" for the browser's.
 * @param {string} tag
 * @returns {Promise<void>}
 */
export async function chooseLanguage(tag) {
  if (tag === "auto") localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, tag);
  await loadStrings();
}

/** @param {string} key @returns {boolean} whether there are words for it */
export function known(key) {
  return key in words;
}

/**
 * The English words, by the rest of their keys.
 * @param {string} front of the keys
 * @returns {Map<string, string>} none while English is shown
 */
export function english(front) {
  return new Map(Object.entries(source).filter(([key]) => key.startsWith(front)).map(([key, text]) => [key.slice(front.length), text]));
}

/**
 * The words for a key, with {placeholders} replaced: a name in a sentence is one line of it.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function t(key, values = {}) {
  const text = words[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, slot) => {
    const value = values[slot];
    if (value === undefined) return whole;
    return typeof value === "number" ? number(value) : printable(value);
  });
}

/**
 * The words for a number of things: the key's "one" or "other".
 * @param {string} key
 * @param {number} count
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function many(key, count, values = {}) {
  const form = plural.select(count) === "one" ? "one" : "other";
  return t(`${key}.${form}`, { ...values, count });
}

/** @param {number} value @returns {string} */
export function number(value) {
  return figures.format(value);
}
