/**
 * What the service says, in the language of the page. It speaks English; a phrase book has its most frequent sentences
 * as templates, so that the names and numbers in a sentence can be put into the sentence of another language.
 * @module
 */
import { english, language, t } from "./strings.js";

/** @typedef {{id: string, whole: RegExp, start: RegExp}} Phrase */

/** @type {Phrase[] | null} */
let phrases = null;

/**
 * @param {string} text one or more sentences of the service
 * @returns {string} the same in the language of the page, or as it is when one of them is not in the phrase book
 */
export function said(text) {
  return translated(text) ?? text;
}

/**
 * @param {string} text
 * @returns {string | null} null when there are no words for it
 */
export function translated(text) {
  if (!text || language() === "en") return null;
  return text.includes("\n") ? text.split("\n").map(said).join("\n") : sentences(text);
}

/** @param {string} text @returns {string | null} */
function sentences(text) {
  phrases ??= book();
  // Several before one: a name at the end of a sentence would take the next sentence along.
  for (const { id, start } of phrases) {
    const found = start.exec(text);
    const rest = found ? sentences(text.slice(found[0].length)) : null;
    if (found && rest !== null) return t(`said.${id}`, found.groups) + rest;
  }
  for (const { id, whole } of phrases) {
    const found = whole.exec(text);
    if (found) return t(`said.${id}`, found.groups);
  }
  return null;
}

/** @returns {Phrase[]} */
function book() {
  return [...english("said.")].map(([id, template]) => {
    const pattern = template.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{(\w+)\}/g, "(?<$1>.+?)");
    return { id, whole: new RegExp(`^${pattern}$`, "s"), start: new RegExp(`^${pattern} +`, "s") };
  });
}
