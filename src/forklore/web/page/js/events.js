/**
 * What the service tells by itself: one stream, taken up again when it breaks.
 * @module
 */
import { look, problemOf } from "./api.js";

/** @typedef {"connecting" | "live" | "lost" | "out"} Connection */

const NAMES = ["hello", "progress", "operation", "changed", "findings", "open_chat", "bye"];
const LONGEST = 15_000;

const bus = new EventTarget();
/** @type {Connection} */
let state = "connecting";
/** @type {EventSource | null} */
let source = null;
let timer = 0;
let pause = 1000;
let wasLost = false;

/**
 * Listens for an event of the service, for "connection", or for "back": the service is there again.
 * @param {string} event
 * @param {(data: any) => void} listener
 * @param {AbortSignal} [signal] stops listening
 */
export function on(event, listener, signal) {
  bus.addEventListener(event, (told) => listener(/** @type {CustomEvent} */ (told).detail), signal ? { signal } : {});
}

/**
 * Calls *act* once, when the service is there again.
 * @param {() => void} act
 */
export function onceBack(act) {
  bus.addEventListener("back", act, { once: true });
}

/** @param {string} event @param {unknown} data */
function tell(event, data) {
  bus.dispatchEvent(new CustomEvent(event, { detail: data }));
}

/** @param {Connection} next */
function become(next) {
  if (next === state) return;
  state = next;
  tell("connection", state);
  if (state === "live" && wasLost) tell("back", null);
  if (state === "live") wasLost = false;
  if (state === "lost") wasLost = true;
}

/** @returns {Connection} */
export function connection() {
  return state;
}

/** Opens the stream, and does so again whenever it breaks. */
export function connect() {
  clearTimeout(timer);
  source?.close();
  const opened = new EventSource("/api/events");
  source = opened;
  opened.addEventListener("open", () => {
    pause = 1000;
    become("live");
  });
  opened.addEventListener("error", () => {
    if (source !== opened) return;
    opened.close();
    retryLater();
  });
  for (const event of NAMES) {
    opened.addEventListener(event, (told) => {
      if (!(told instanceof MessageEvent)) return; // the stream's own "open" has the name of one of ours
      const data = JSON.parse(told.data);
      if (event === "bye") {
        opened.close();
        retryLater();
      }
      tell(event, data);
    });
  }
}

function retryLater() {
  if (state === "out") return;
  become("lost");
  clearTimeout(timer);
  timer = window.setTimeout(tryNow, pause);
  pause = Math.min(pause * 1.7, LONGEST);
}

/** Tries to reach the service at once. */
export async function tryNow() {
  clearTimeout(timer);
  try {
    await look("settings", {});
    connect();
  } catch (error) {
    const problem = problemOf(error);
    if (problem && problem.status !== 0 && !problem.loggedOut) connect();
    else if (!problem?.loggedOut) retryLater();
  }
}

/** Nobody is logged in: there is nothing to listen to. */
export function leave() {
  clearTimeout(timer);
  source?.close();
  become("out");
}

window.addEventListener("online", () => state === "lost" && void tryNow());
document.addEventListener("visibilitychange", () => !document.hidden && state === "lost" && void tryNow());
