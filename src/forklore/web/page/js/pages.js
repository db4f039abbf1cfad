/**
 * The messages of a chat, fetched a page at a time, as they come into view.
 * @module
 */
import { look, problemOf } from "./api.js";

/** @typedef {import("./types.js").Message} Message */
/** @typedef {import("./types.js").Page} Page */

export const PAGE = 50;
const KEPT = 40;
const SETTLE = 60;

export class Pages {
  /**
   * @param {string} chat
   * @param {{arrived: (page: Page) => void, failed: (problem: import("./api.js").Problem) => void, signal: AbortSignal}} options
   */
  constructor(chat, { arrived, failed, signal }) {
    this.chat = chat;
    this.arrived = arrived;
    this.failed = failed;
    this.signal = signal;
    /** @type {Map<number, Message[]>} by the number of the page, the latest used last */
    this.pages = new Map();
    /** @type {Map<number, AbortController>} */
    this.asked = new Map();
    this.timer = 0;
    signal.addEventListener("abort", () => {
      clearTimeout(this.timer);
      for (const request of this.asked.values()) request.abort();
    });
  }

  /** @param {number} index @returns {Message | null} */
  get(index) {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE] ?? null;
  }

  /**
   * Says which messages are in view; pages that nobody waits for any more are given up.
   * @param {number} first
   * @param {number} last
   */
  want(first, last) {
    clearTimeout(this.timer);
    const from = Math.floor(first / PAGE);
    const upto = Math.floor(last / PAGE);
    for (const [page, request] of this.asked) {
      if (page < from - 1 || page > upto + 1) {
        request.abort();
        this.asked.delete(page);
      }
    }
    /** @type {number[]} */
    const missing = [];
    for (let page = from; page <= upto; page += 1) if (!this.pages.has(page) && !this.asked.has(page)) missing.push(page);
    // While somebody scrolls through thousands of messages, only where they stay for a moment is read.
    if (missing.length) this.timer = window.setTimeout(() => missing.forEach((page) => void this.fetch(page)), SETTLE);
  }

  /**
   * @param {number} page
   * @returns {Promise<void>}
   */
  async fetch(page) {
    if (this.asked.has(page) || this.signal.aborted) return;
    const request = new AbortController();
    this.asked.set(page, request);
    try {
      /** @type {Page} */
      const answer = await look("messages", { chat: this.chat, start: page * PAGE, count: PAGE }, { signal: request.signal });
      this.keep(page, answer.messages);
      this.arrived(answer);
    } catch (error) {
      const problem = problemOf(error);
      if (problem) this.failed(problem);
    } finally {
      if (this.asked.get(page) === request) this.asked.delete(page);
    }
  }

  /**
   * @param {number} page
   * @param {Message[]} messages
   */
  keep(page, messages) {
    this.pages.delete(page);
    this.pages.set(page, messages);
    if (this.pages.size <= KEPT) return;
    for (const oldest of this.pages.keys()) {
      this.pages.delete(oldest);
      break;
    }
  }

  /** Forgets what was read and reads the latest pages anew, and those somebody waits for: the chat has changed. */
  async again() {
    const pages = [...new Set([...this.pages.keys(), ...this.asked.keys()])].slice(-4);
    this.pages.clear();
    for (const request of this.asked.values()) request.abort();
    this.asked.clear();
    await Promise.all(pages.map((page) => this.fetch(page)));
  }
}
