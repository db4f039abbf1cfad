/**
 * The text of a message: emphasis and speech as SillyTavern writes them, made of text nodes alone.
 * @module
 */
import { h } from "./dom.js";

const MARKS = /\*\*([^*\n]+)\*\*|\*([^*\n]+)\*|(“[^”\n]*”|"[^"\n]*"|「[^」\n]*」|『[^』\n]*』|«[^»\n]*»)/g;

/**
 * @param {string} text
 * @returns {(Node | string)[]}
 */
export function prose(text) {
  /** @type {(Node | string)[]} */
  const pieces = [];
  let done = 0;
  for (const found of text.matchAll(MARKS)) {
    if (found.index > done) pieces.push(text.slice(done, found.index));
    const [whole, strong, soft] = found;
    if (strong !== undefined) pieces.push(h("strong", null, strong));
    else if (soft !== undefined) pieces.push(h("em", null, soft));
    else pieces.push(h("q", null, whole));
    done = found.index + whole.length;
  }
  if (done < text.length) pieces.push(text.slice(done));
  return pieces;
}
