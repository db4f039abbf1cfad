/**
 * Views that keep themselves fresh.
 * @module
 */
import { problemOf } from "./api.js";
import { whenQuiet } from "./dom.js";
import { on } from "./events.js";
import { focusSpot, returnFocus } from "./focus.js";

/**
 * Makes a loading that leaves the keyboard where it is, although everything is drawn anew.
 * @param {() => Promise<void>} load
 * @returns {() => Promise<void>}
 */
export function steady(load) {
  return async () => {
    const spot = focusSpot();
    await load();
    if (spot && !spot.element.isConnected && document.activeElement === document.body) returnFocus(spot, true);
  };
}

/**
 * Loads a view again when something changed that concerns it, at most a few times a second.
 * @param {() => Promise<void>} load
 * @param {AbortSignal} signal
 * @param {(chats: string[]) => boolean} [concerns] whether a change of these chats matters; all do without it
 */
export function keepFresh(load, signal, concerns = () => true) {
  const soon = whenQuiet(
    () => {
      steady(load)().catch((error) => void problemOf(error)); // a view that is shown stays; what is wrong is told elsewhere
    },
    250,
    signal,
  );
  on("operation", soon, signal);
  on("back", soon, signal);
  on("changed", (data) => (data.everything || data.books.length || concerns(data.chats)) && soon(), signal);
}
