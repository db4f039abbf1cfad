/**
 * Talking to the service: JSON in, JSON out, and one kind of problem.
 * @module
 */

import { keyHeader } from "./key.js";

/** @typedef {import("./types.js").Finding} Finding */
/** @typedef {import("./types.js").Params} Params */

/** A request that was not fulfilled, with what a person can do about it. */
export class Problem extends Error {
  /**
   * @param {number} status 0 when the service did not answer
   * @param {{code?: string, params?: Params, kind?: string, detail?: string, action?: string, findings?: Finding[]}} body
   */
  constructor(status, body) {
    super(body.detail ?? "");
    this.status = status;
    this.code = body.code ?? "";
    this.params = body.params ?? null;
    this.kind = body.kind ?? "";
    this.detail = body.detail ?? "";
    this.action = body.action ?? "";
    this.findings = body.findings ?? [];
  }

  /** @returns {boolean} */
  get offline() {
    return this.status === 0;
  }

  /** @returns {boolean} */
  get loggedOut() {
    return this.status === 401;
  }
}

/** @type {Set<(problem: Problem) => void>} */
const watchers = new Set();

/**
 * Calls *watcher* for every problem that concerns the whole page: logged out, or nobody there.
 * @param {(problem: Problem) => void} watcher
 */
export function onTrouble(watcher) {
  watchers.add(watcher);
}

/**
 * @typedef {Object} Options
 * @property {AbortSignal} [signal]
 * @property {string} [job] the name under which progress is told
 */

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} body
 * @param {Options} options
 * @returns {Promise<any>}
 */
async function request(method, path, body, options) {
  return parsed(await (await answered(method, path, body, options)).text());
}

/**
 * Opens a stream of the service.
 * @param {string} path below /api/
 * @param {AbortSignal} signal ends it
 * @returns {Promise<ReadableStream<Uint8Array>>}
 */
export async function openStream(path, signal) {
  const { body } = await answered("GET", `/api/${path}`, undefined, { signal });
  if (!body) throw new Problem(0, { code: "OFFLINE", kind: "offline" });
  return body;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} body
 * @param {Options} options
 * @returns {Promise<Response>} a good answer; anything else is thrown
 */
async function answered(method, path, body, { signal, job }) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json", ...keyHeader() };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (job) headers["X-Forklore-Job"] = job;
  /** @type {Response} */
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers,
      credentials: "same-origin",
      cache: "no-store",
      signal: signal ?? null,
      body: body === undefined ? null : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw trouble(new Problem(0, { code: "OFFLINE", kind: "offline" }));
  }
  if (answer.ok) return answer;
  const problem = new Problem(answer.status, parsed(await answer.text()) ?? { code: "UNKNOWN", detail: answer.statusText });
  throw problem.loggedOut ? trouble(problem) : problem;
}

/** @param {Problem} problem @returns {Problem} */
function trouble(problem) {
  for (const watcher of watchers) watcher(problem);
  return problem;
}

/** @param {string} text @returns {any} */
function parsed(text) {
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Looks at something.
 * @param {string} path below /api/
 * @param {Record<string, string | number | boolean | null | undefined>} [parameters]
 * @param {Options} [options]
 * @returns {Promise<any>}
 */
export function look(path, parameters = {}, options = {}) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== "") query.set(key, String(value));
  }
  const tail = query.size ? `?${query}` : "";
  return request("GET", `/api/${path}${tail}`, undefined, options);
}

/**
 * Changes something.
 * @param {string} path below /api/
 * @param {Record<string, unknown>} body
 * @param {Options} [options]
 * @returns {Promise<any>}
 */
export function change(path, body, options = {}) {
  return request("POST", `/api/${path}`, body, options);
}

/**
 * Asks a running job to stop; one that has ended, and was seen, is forgotten.
 * @param {string} job
 * @returns {Promise<any>}
 */
export function cancel(job) {
  return request("DELETE", `/api/jobs/${job}`, undefined, {});
}

/** @returns {string} a name for a job; without crypto.randomUUID, which plain http on a home network lacks */
export function newJob() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `page-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/**
 * @param {unknown} error
 * @returns {Problem | null} the problem, or null when a request was given up on purpose
 */
export function problemOf(error) {
  if (error instanceof Problem) return error;
  if (error instanceof DOMException && error.name === "AbortError") return null;
  throw error;
}
