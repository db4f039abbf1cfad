/** The service: one function to ask it, one kind of problem, one stream of events. */
import { remembered, serviceAddress, storageKey } from './settings.js';
import { t, toldOfProblem } from './wording.js';

/** @typedef {import('./wording.js').Finding} Finding */
/** @typedef {import('./wording.js').Params} Params */
/**
 * @typedef {object} ProblemTold
 * @property {number} [status]
 * @property {string} [code]
 * @property {Params} [params]
 * @property {string} [kind]
 * @property {string} [detail]
 * @property {string} [action]
 * @property {Finding[]} [findings]
 */

/** What the service refused, with what to do about it. */
export class Problem extends Error {
    /** @param {ProblemTold} told */
    constructor(told) {
        super(told.detail || told.code || t('unknown_problem'));
        this.status = told.status ?? 0;
        this.code = told.code ?? 'UNKNOWN';
        this.params = told.params;
        this.kind = told.kind ?? 'bug';
        this.action = told.action ?? '';
        this.findings = told.findings ?? [];
    }
}

/** @param {Problem} problem @returns {string} what it is and what to do, a line each */
export function problemText(problem) {
    const { message, action } = toldOfProblem(problem);
    return [message, action && `→ ${action}`].filter(Boolean).join('\n');
}

/** @typedef {'unknown' | 'connected' | 'unpaired' | 'away'} State */

/** Nobody answers, or nobody lets us in. */
export class Away extends Error {
    /** @param {State} state */
    constructor(state) {
        super(state);
        this.state = state;
    }
}

const ASK_MS = 30_000;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 15_000;
const SILENCE_MS = 50_000; // the service is heard every 20 seconds
/** What is answered to everybody. */
const FOR_STRANGERS = ['health', 'pair'];

/** @type {Map<string, Set<(data: any) => void>>} */
const listeners = new Map();

/** @type {State} */
let state = 'unknown';
let version = '';
/** Whether the service has a password that could be entered. */
let hasPassword = false;
/** What the service says of why it lets nobody in. */
let why = '';
/** @type {AbortController | null} */
let stream = null;
/** Whether events can be heard. */
let isHearing = false;
/** @type {Promise<void> | null} */
let connecting = null;
/** @type {Promise<boolean> | null} */
let pairing = null;
/** The code that was refused: until another one lies in our folder there is nothing to try. */
let spent = '';
/** What this page has asked for: the names of its jobs, which the log has as requests. @type {Set<string>} */
const asked = new Set();
let wake = () => {};

/** @returns {{state: State, version: string, why: string, hasPassword: boolean}} */
export const connection = () => ({ state, version, why, hasPassword });

/**
 * Why the service cannot be asked, in words.
 * @param {State} now
 * @param {string} [ifAway] what else is to be said when nobody answers
 */
export const whyNot = (now, ifAway = t('away')) =>
    now === 'unpaired' ? why || t(hasPassword ? 'unpaired_password' : 'unpaired') : ifAway;

/**
 * Hear an event of the service, or `state` when the connection changes.
 * @param {string} event
 * @param {(data: any) => void} listener
 * @returns {() => void} what stops it
 */
export function on(event, listener) {
    const all = listeners.get(event) ?? new Set();
    listeners.set(event, all.add(listener));
    return () => all.delete(listener);
}

/** @param {string} event @param {any} data */
function tell(event, data) {
    for (const listener of [...(listeners.get(event) ?? [])]) {
        try {
            listener(data);
        } catch (error) {
            console.error('[Forklore]', error);
        }
    }
}

/** @param {State} next @param {string} [reason] */
function become(next, reason = '') {
    if (next !== state || reason !== why) {
        state = next;
        why = reason;
        tell('state', state);
    }
}

const tokenKey = () => `${storageKey('token')} ${serviceAddress()}`;

/**
 * Ask the service. Nothing that is not JSON ever comes back.
 * @param {'GET' | 'POST' | 'DELETE'} method
 * @param {string} path
 * @param {{query?: Record<string, any>, body?: any, job?: string, timeout?: number, isLast?: boolean}} [options]
 * @returns {Promise<any>} throws `Problem` or `Away`
 */
export async function ask(method, path, { query = {}, body, job, timeout = ASK_MS, isLast = false } = {}) {
    const url = new URL(`${serviceAddress()}/api/${path}`);
    for (const [key, value] of Object.entries(query)) {
        for (const each of Array.isArray(value) ? value : [value]) {
            if (each !== null && each !== undefined) {
                url.searchParams.append(key, String(each));
            }
        }
    }
    /** @type {Record<string, string>} */
    const headers = {};
    const token = localStorage.getItem(tokenKey());
    if (token) {
        headers.Authorization = `Bearer ${token}`;
    }
    if (body !== undefined) {
        headers['Content-Type'] = 'application/json';
    }
    if (job) {
        headers['X-Forklore-Job'] = job;
    }
    /** @type {Response} */
    let response;
    /** @type {any} */
    let answer;
    try {
        response = await fetch(url, {
            method,
            headers,
            body: body === undefined ? undefined : JSON.stringify(body),
            signal: timeout ? AbortSignal.timeout(timeout) : undefined,
            credentials: 'omit',
            cache: 'no-store',
        });
        // An answer that breaks off is no answer, whatever its status was.
        answer = await response.json().catch((error) => (response.ok ? Promise.reject(error) : {}));
    } catch (error) {
        if (error instanceof DOMException && error.name === 'TimeoutError') {
            throw new Problem({ code: 'TIMEOUT', kind: 'busy', detail: t('too_late') });
        }
        become('away');
        throw new Away('away');
    }
    if (response.ok) {
        if (isHearing) {
            become('connected');
        } else if (!FOR_STRANGERS.includes(path)) {
            wake();
        }
        return answer;
    }
    if (response.status === 401) {
        // Nothing was done, so that it can be asked again with a token that is good.
        if (!isLast && !FOR_STRANGERS.includes(path) && (await renewed(token))) {
            return ask(method, path, { query, body, job, timeout, isLast: true });
        }
        become('unpaired');
        stream?.abort(); // what is still heard was begun with the old token
        throw new Away('unpaired');
    }
    throw new Problem({ status: response.status, ...answer });
}

/** @param {string} path @param {Record<string, any>} [query] */
export const look = (path, query) => ask('GET', path, { query });

/** @returns {string} a name for a job that nobody else has; without crypto.randomUUID, which plain http lacks */
export function newJob() {
    const bytes = crypto.getRandomValues(new Uint8Array(12));
    return `tavern-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/**
 * Let the service change something; its log tells by the job what became of it.
 * @param {string} path
 * @param {any} body
 * @param {{job?: string, timeout?: number}} [options]
 */
export function change(path, body, { job = newJob(), timeout } = {}) {
    asked.add(job);
    return ask('POST', path, { body, job, timeout });
}

/** Whether this page asked for an operation. @param {{request: string | null}} operation */
export const isOurs = ({ request }) => request !== null && asked.has(request);

/** What is told of something that may be gone: nothing if it is. @param {unknown} error @returns {null} */
export function ifNotThere(error) {
    if (error instanceof Problem && error.kind === 'not_found') {
        return null;
    }
    throw error;
}

/** Whether the service can be asked now; that it was away a moment ago says little. @returns {Promise<boolean>} */
export async function isThere() {
    if (state === 'connected') {
        return true;
    }
    return ask('GET', 'settings', { timeout: 3_000 }).then(
        () => true,
        (error) => error instanceof Problem && error.code !== 'TIMEOUT',
    );
}

// --- coming in ---------------------------------------------------------------------------------------------------

/**
 * Get a token with the code that lies in our folder, or with a password.
 * @param {string} [password]
 * @returns {Promise<boolean>}
 */
export async function pair(password) {
    /** @type {Record<string, string>} */
    const key = {};
    if (password) {
        key.password = password;
    } else {
        const response = await fetch(new URL('pairing.json', import.meta.url), { cache: 'no-store' }).catch(() => null);
        const found = response?.ok ? await response.json().catch(() => null) : null;
        if (!found?.code || found.code === spent) {
            return false;
        }
        key.code = found.code;
    }
    const answer = await change('pair', key).catch((error) => {
        if (error instanceof Problem && error.code === 'NOT_PAIRED') {
            spent = key.code ?? spent;
        }
        throw error;
    });
    localStorage.setItem(tokenKey(), answer.token);
    return true;
}

/**
 * Get another token in place of one that was refused; it may have been done already.
 * @param {string | null} refused
 * @returns {Promise<boolean>} whether there is one
 */
async function renewed(refused) {
    const now = localStorage.getItem(tokenKey());
    if (now && now !== refused) {
        return true;
    }
    localStorage.removeItem(tokenKey());
    return pairAgain();
}

/** Pair with the code in our folder, if there is a good one; however many want it, once. @returns {Promise<boolean>} */
function pairAgain() {
    pairing ??= pair()
        .catch(() => false)
        .finally(() => {
            pairing = null;
        });
    return pairing;
}

/** Keep a connection for as long as the page lives; ask again now when there is none. */
export function connect() {
    wake();
    connecting ??= stayConnected().finally(() => {
        connecting = null;
    });
}

/** Begin anew: the address or the token has changed. */
export function reconnect() {
    spent = '';
    stream?.abort();
    connect();
}

async function stayConnected() {
    let wait = FIRST_RETRY_MS;
    for (;;) {
        try {
            await listenOnce(() => {
                wait = FIRST_RETRY_MS;
            });
        } catch (error) {
            if (error instanceof Away) {
                become(error.state);
            } else if (error instanceof Problem) {
                become('unpaired', problemText(error));
            } else {
                become('away');
            }
        }
        await new Promise((resolve) => {
            const timer = setTimeout(resolve, wait);
            wake = () => {
                clearTimeout(timer);
                resolve(undefined);
            };
        });
        wait = Math.min(wait * 2, LAST_RETRY_MS);
    }
}

/** @param {() => void} connected */
async function listenOnce(connected) {
    const health = await ask('GET', 'health', { timeout: 5_000 });
    version = String(health.version ?? '');
    hasPassword = Boolean(health.password);
    if (!localStorage.getItem(tokenKey()) && !(await pairAgain())) {
        throw new Away('unpaired');
    }
    const body = (await openStream()) ?? ((await pairAgain()) ? await openStream() : null);
    if (!body) {
        throw new Away('unpaired');
    }
    connected();
    become('connected');
    isHearing = true;
    try {
        await readEvents(body);
    } catch {
        // It broke off, which is the same as an end.
    } finally {
        isHearing = false;
    }
    if (state === 'connected') {
        become('away');
    }
}

/** @returns {Promise<ReadableStream<Uint8Array> | null>} null when we are not let in; a browser may not say why */
async function openStream() {
    stream = new AbortController();
    const token = localStorage.getItem(tokenKey());
    const headers = { Authorization: `Bearer ${token}` };
    const asked = { headers, signal: stream.signal, credentials: /** @type {const} */ ('omit') };
    const response = await fetch(`${serviceAddress()}/api/events`, asked).catch(() => null);
    if (response?.status === 401) {
        localStorage.removeItem(tokenKey());
    }
    return response?.ok ? response.body : null;
}

/** @param {ReadableStream<Uint8Array>} body */
async function readEvents(body) {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let text = '';
    for (;;) {
        const silence = setTimeout(() => stream?.abort(), SILENCE_MS);
        const { done, value } = await reader.read().finally(() => clearTimeout(silence));
        if (done) {
            return;
        }
        become('connected');
        const parts = (text + decoder.decode(value, { stream: true })).split('\n\n');
        text = parts.pop() ?? '';
        for (const part of parts) {
            const event = /^event: (.*)$/m.exec(part)?.[1];
            const data = /^data: (.*)$/m.exec(part)?.[1];
            if (event && data) {
                tell(event, JSON.parse(data));
            }
        }
    }
}

/** Forks that SillyTavern made while nobody could isolate them. */
export const meanwhile = remembered('meanwhile');
