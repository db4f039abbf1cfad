/**
 * Places inside the page: "#/story/<address>", "#/timeline/<address>/<message>" …
 * @module
 */

/** @typedef {{view: string, args: string[]}} Place */

/** @returns {Place} */
export function here() {
  const parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean);
  const [view = "stories", ...rest] = parts;
  return { view, args: rest.map(decoded) };
}

/** @param {string} text @returns {string} */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The link to a place.
 * @param {string} view
 * @param {...(string | number)} args
 * @returns {string}
 */
export function link(view, ...args) {
  return `#/${[view, ...args.map((each) => encodeURIComponent(String(each)))].join("/")}`;
}

/**
 * Goes to a place.
 * @param {string} view
 * @param {...(string | number)} args
 */
export function go(view, ...args) {
  location.hash = link(view, ...args);
}

/** @param {() => void} arrive called for every new place */
export function onArrival(arrive) {
  window.addEventListener("hashchange", arrive);
}
