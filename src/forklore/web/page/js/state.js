/**
 * What the whole page knows: the stories, and which chat is open in SillyTavern.
 * @module
 */
import { look, problemOf } from "./api.js";
import { on } from "./events.js";
import { nameGroups } from "./format.js";

/** @typedef {import("./types.js").Overview} Overview */

/** @type {Overview | null} */
let overview = null;
/** @type {string | null} */
let open = null;
const bus = new EventTarget();

/**
 * The stories, asked anew.
 * @param {AbortSignal} [signal]
 * @returns {Promise<Overview>}
 */
export async function readOverview(signal) {
  /** @type {Overview} */
  const read = await look("overview", {}, signal ? { signal } : {});
  overview = read;
  setOpen(read.open);
  return read;
}

/** Learns what the groups are called; without it they are still group chats. */
export async function readGroups() {
  try {
    nameGroups((await look("groups")).groups);
  } catch (error) {
    problemOf(error);
  }
}

/** @returns {Overview | null} the stories as they were last seen */
export function lastOverview() {
  return overview;
}

/** @returns {string | null} */
export function openChat() {
  return open;
}

/** @param {string | null} chat */
function setOpen(chat) {
  if (chat === open) return;
  open = chat;
  bus.dispatchEvent(new Event("open"));
}

/**
 * Calls *listener* when another chat was opened in SillyTavern.
 * @param {() => void} listener
 * @param {AbortSignal} signal
 */
export function onOpenChat(listener, signal) {
  bus.addEventListener("open", listener, { signal });
}

on("open_chat", (data) => setOpen(data.chat));
on("back", () => void readGroups());
on("changed", (data) => data.everything && void readGroups());
