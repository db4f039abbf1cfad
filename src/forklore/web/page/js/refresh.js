/**
 * Views that keep themselves fresh.
 * @module
 */
import { problemOf } from "./api.js";
import { whenQuiet } from "./dom.js";
import { on } from "./events.js";

/**
 * Loads a view again when something changed that concerns it, at most a few times a second.
 * @param {() => Promise<void>} load
 * @param {AbortSignal} signal
 * @param {(chats: string[]) => boolean} [concerns] whether a change of these chats matters; all do without it
 */
export function keepFresh(load, signal, concerns = () => true) {
  const soon = whenQuiet(
    () => {
      load().catch((error) => void problemOf(error)); // a view that is shown stays; what is wrong is told elsewhere
    },
    250,
    signal,
  );
  on("operation", soon, signal);
  on("back", soon, signal);
  on("changed", (data) => (data.everything || data.books.length || concerns(data.chats)) && soon(), signal);
}
