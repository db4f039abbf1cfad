/**
 * Making elements. Whatever comes from a story is set as text, never as markup, and does nothing but stand there.
 * @module
 */
import { printable, printableText } from "/texts/printable.js";

/** @typedef {Node | string | number | null | undefined | false} Child */
/**
 * @typedef {Object} Props
 * @property {string} [class]
 * @property {Record<string, (event: any) => void>} [on] listeners by event
 * @property {Record<string, string | number>} [data] data attributes
 * @property {Record<string, string | number | boolean>} [aria] aria attributes
 */
/** @typedef {Props & Record<string, any>} Properties every other key is an attribute; true is empty, false and null are left out */

/**
 * Makes an element.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Properties | null} [properties]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (key === "data") for (const [name, item] of Object.entries(value)) element.dataset[name] = String(item);
    else if (key === "aria") for (const [name, item] of Object.entries(value)) element.setAttribute(`aria-${name}`, String(item));
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

/**
 * Makes an SVG element.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...Node} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/**
 * @param {(Child | Child[])[]} children
 * @returns {(Node | string)[]}
 */
function nodes(children) {
  /** @type {(Node | string)[]} */
  const all = [];
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    all.push(typeof child === "string" ? printableText(child) : typeof child === "number" ? String(child) : child);
  }
  return all;
}

/**
 * Replaces everything inside an element.
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/**
 * A name from a story, kept apart from the direction of the text around it.
 * @param {string} text
 * @param {string} [className]
 * @returns {HTMLElement}
 */
export function name(text, className) {
  return h("bdi", { class: className ?? "name" }, printable(text));
}

/**
 * A long name on one line: where there is no room its beginning is left out, as such names differ at their ends.
 * @param {string} text
 * @returns {HTMLElement}
 */
export function longName(text) {
  return h("span", { class: "long-name", title: printable(text) }, name(text));
}

/**
 * Text that only a screen reader tells.
 * @param {string} text
 * @returns {HTMLElement}
 */
export function spoken(text) {
  return h("span", { class: "spoken" }, text);
}

/**
 * Calls a function once things have been quiet for a while.
 * @param {() => void} act
 * @param {number} milliseconds
 * @param {AbortSignal} [signal]
 * @returns {() => void}
 */
export function whenQuiet(act, milliseconds, signal) {
  let timer = 0;
  signal?.addEventListener("abort", () => clearTimeout(timer));
  return () => {
    clearTimeout(timer);
    if (!signal?.aborted) timer = window.setTimeout(act, milliseconds);
  };
}

let counter = 0;

/**
 * An id that no other element has.
 * @param {string} stem
 * @returns {string}
 */
export function freshId(stem) {
  counter += 1;
  return `${stem}-${counter}`;
}
