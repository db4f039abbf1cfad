/**
 * What the service tells by itself: one stream, taken up again when it breaks.
 * @module
 */
import { look, openStream, problemOf } from "./api.js";

/** @typedef {"connecting" | "live" | "lost" | "out"} Connection */

const LONGEST = 15_000;
const SILENCE = 50_000; // the service is heard every 20 seconds

const bus = new EventTarget();
/** @type {Connection} */
let state = "connecting";
/** @type {AbortController | null} */
let stream = null;
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
  stream?.abort();
  const opened = new AbortController();
  stream = opened;
  void listen(opened).finally(() => stream === opened && retryLater());
}

/**
 * Tells what the stream says until it ends. It is read by fetch: an EventSource could not send the page's key.
 * @param {AbortController} opened
 */
async function listen(opened) {
  try {
    const reader = (await openStream("events", opened.signal)).getReader();
    pause = 1000;
    become("live");
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const silence = window.setTimeout(() => opened.abort(), SILENCE);
      const { done, value } = await reader.read().finally(() => clearTimeout(silence));
      if (done) return;
      const parts = (text + decoder.decode(value, { stream: true })).split("\n\n");
      text = parts.pop() ?? "";
      for (const part of parts) {
        const event = /^event: (.*)$/m.exec(part)?.[1];
        const data = /^data: (.*)$/m.exec(part)?.[1];
        if (event && data) tell(event, JSON.parse(data));
        if (event === "bye") return;
      }
    }
  } catch {
    // It broke off, which is the same as an end.
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
  stream?.abort();
  stream = null;
  become("out");
}

window.addEventListener("online", () => state === "lost" && void tryNow());
document.addEventListener("visibilitychange", () => !document.hidden && state === "lost" && void tryNow());
