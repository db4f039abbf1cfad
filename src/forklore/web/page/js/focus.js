/**
 * Where the keyboard is: it stays there when a view is drawn anew, and comes back when a dialog closes.
 * @module
 */

/** @typedef {{element: Element, tag: string, label: string, place: string}} Spot */

const PLACES = ["chat", "operation", "item", "index", "row", "tab", "code"];

/** @returns {Spot | null} what has the focus, so that it can be found again */
export function focusSpot() {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  return { element, tag: element.tagName, label: labelOf(element), place: placeOf(element) };
}

/**
 * Gives the focus back: to the element itself, else to the one that was drawn in its stead.
 * @param {Spot | null} spot
 * @param {boolean} [anywhere] whether the view's heading will do when neither is there
 */
export function returnFocus(spot, anywhere = false) {
  const target = spot && (reachable(spot.element) ?? again(spot));
  const heading = anywhere ? document.querySelector("main h1") : null;
  if (target) target.focus({ preventScroll: true });
  else if (heading instanceof HTMLElement) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }
}

/**
 * The element, or what opens the menu that it is hidden in.
 * @param {Element} element
 * @returns {HTMLElement | null}
 */
function reachable(element) {
  if (!element.isConnected || !(element instanceof HTMLElement)) return null;
  if (element.checkVisibility()) return element;
  const summary = element.closest("details")?.querySelector("summary");
  return summary instanceof HTMLElement && summary.checkVisibility() ? summary : null;
}

/** @param {Spot} spot @returns {HTMLElement | null} */
function again(spot) {
  for (const each of document.querySelectorAll(spot.tag)) {
    if (labelOf(each) === spot.label && placeOf(each) === spot.place) {
      const found = reachable(each);
      if (found) return found;
    }
  }
  return null;
}

/** @param {Element} element @returns {string} */
function labelOf(element) {
  if (element instanceof HTMLInputElement || element instanceof HTMLSelectElement) return element.id || element.name || (element.getAttribute("aria-label") ?? "");
  return element.getAttribute("aria-label") ?? element.textContent ?? "";
}

/** @param {Element} element @returns {string} the rows it is in */
function placeOf(element) {
  const found = [];
  for (let each = /** @type {Element | null} */ (element); each; each = each.parentElement) {
    if (!(each instanceof HTMLElement)) continue;
    for (const key of PLACES) if (each.dataset[key] !== undefined) found.push(`${key}=${each.dataset[key]}`);
  }
  return found.join(" ");
}
