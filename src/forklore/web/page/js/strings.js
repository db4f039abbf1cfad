/**
 * The words of the page, in the language of the reader.
 * @module
 */
import { LANGUAGES, Words } from "/texts/words.js";

/** @typedef {import("/texts/words.js").Fact} Fact */
/** @typedef {import("/texts/words.js").Params} Params */
/** @typedef {import("/texts/words.js").Came} Came */
/** @typedef {import("/texts/words.js").Told} Told */

export { LANGUAGES };
const STORED = "forklore.language";

let words = new Words("en", {});

/** @returns {string} the language that is shown */
export function language() {
  return words.language;
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
 * Loads the words.
 * @returns {Promise<void>}
 */
export async function loadStrings() {
  const tag = wanted();
  words = new Words(tag, await (await fetch(`/texts/${tag}.json`)).json());
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
  return words.has(key);
}

/**
 * The words for a key with its gaps filled: a name in a sentence is one line of it.
 * @param {string} key
 * @param {Params} [params]
 * @returns {string}
 */
export function t(key, params = {}) {
  return words.text(key, params);
}

/**
 * @param {string} fact such as "finding.CHAT_DAMAGED"
 * @param {Params} params
 * @returns {boolean} whether something can be told about it
 */
export function hasWords(fact, params) {
  return words.part(fact, "message", params) !== "";
}

/**
 * All that is told about a finding or an error on this page.
 * @param {string} fact
 * @param {Came} came
 * @returns {Told} as it came where there are no words for it
 */
export function toldOf(fact, came) {
  return words.told(fact, came, "page");
}

/** @param {Fact} fact a reason, or what was found or done @returns {string} */
export function factWords(fact) {
  return words.word(fact);
}

/** @param {number} value @returns {string} */
export function number(value) {
  return words.grammar.number(value);
}
