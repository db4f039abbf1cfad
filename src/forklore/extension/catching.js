/**
 * Forks that others make: the swipe picker, Timelines and whoever else calls SillyTavern's own functions; and copies of
 * whole chats, as an import or a conversion to a group makes them.
 *
 * Each of them saves a new chat, so the page's requests are watched. A fork is isolated before the one who made it gets
 * the answer to his save, and so before it can open. Where a request cannot be read (compressed bodies), the event that
 * SillyTavern awaits before it opens a branch does the same.
 */
import * as api from './api.js';
import { isMaking, isMakingNatively } from './creating.js';
import { notice } from './dialogs.js';
import * as st from './sillytavern.js';
import { t } from './strings.js';

/** Chats that need not be isolated a second time. @type {Set<string>} */
const handled = new Set();
/** Chats that were to be isolated before their file was there. @type {Set<string>} */
const awaited = new Set();

/** What a save says of itself. @typedef {{name: string, groupId: string | null, metadata: any}} Save */

export function startCatching() {
    const original = window.fetch;
    window.fetch = async function forkloreFetch(input, init) {
        const path = pathOf(input);
        if (path === '/api/chats/save' || path === '/api/chats/group/save') {
            return saving(() => original.call(window, input, init), path, init?.body);
        }
        if (path === '/api/chats/import' || path === '/api/chats/group/import') {
            return importing(() => original.call(window, input, init), path, init?.body);
        }
        return original.call(window, input, init);
    };
    st.eventSource.on(st.eventTypes.ITEMIZED_PROMPTS_SAVED ?? 'itemized_prompts_saved', onPromptsSaved);
}

/** @param {RequestInfo | URL} input */
function pathOf(input) {
    const text = typeof input === 'string' ? input : input instanceof URL ? input.pathname : '';
    return text.startsWith('/api/chats/') ? text : '';
}

/**
 * @param {() => Promise<Response>} send
 * @param {string} path
 * @param {any} body
 */
async function saving(send, path, body) {
    const isGroup = path.includes('/group/');
    const name = typeof body === 'string' ? nameIn(body, isGroup) : null;
    const chat = st.openChat();
    const own = chat !== null && (name === chat.name || name === null) && isGroup === Boolean(chat.groupId);
    const response = await send();
    if (!response.ok) {
        return response;
    }
    if (own && st.isStillOpen(chat)) {
        st.onDisk.saves += 1;
        st.noteOnDisk();
    }
    if (!own && name !== null && typeof body === 'string' && !isMaking()) {
        await isolateIfFork({ name, groupId: groupOf(name, isGroup), metadata: metadataIn(body) }, isGroup, chat);
    }
    return response;
}

/** @param {string} name @param {boolean} isGroup @returns {string | null} */
function groupOf(name, isGroup) {
    if (!isGroup) {
        return null;
    }
    const { groups, groupId } = st.context();
    return groups.find((/** @type {any} */ each) => each.chats?.includes(name))?.id ?? groupId ?? null;
}

/**
 * @param {Save} save
 * @param {boolean} isGroup
 * @param {st.OpenChat | null} chat the chat that is open
 */
async function isolateIfFork({ name, groupId, metadata }, isGroup, chat) {
    const isFork = Boolean(metadata?.main_chat) && metadata?.forklore?.chat !== name;
    // A chat that becomes a group's keeps lorebook and identity, but loses its parent.
    const isConverted = isGroup && chat !== null && !chat.groupId && metadata?.integrity === st.context().chatMetadata.integrity;
    if (chat && (isFork || isConverted)) {
        const address = st.addressOf(name, isGroup ? groupId : null);
        handled.delete(address); // a new file, even if there was one of that name before
        await isolateQuietly(address, name);
    }
}

/**
 * Isolate a chat that is not open.
 * @param {string} address
 * @param {string} name
 */
export async function isolateQuietly(address, name) {
    if (handled.has(address)) {
        return;
    }
    handled.add(address);
    try {
        const isolated = await api.change('isolate', { chat: address }, { timeout: 120_000 });
        await st.refreshBooks(isolated.lorebook);
        api.meanwhile.drop(address);
        if (isolated.outcome === 'isolated') {
            notice('info', t(isolated.parent === null ? 'isolated_copy' : 'isolated_other', { name }));
        }
    } catch (error) {
        handled.delete(address);
        if (error instanceof api.Problem && error.kind === 'not_found') {
            awaited.add(address);
            return;
        }
        if (error instanceof api.Problem && (error.code === 'NOT_A_FORK' || error.code === 'SHARED_ON_PURPOSE')) {
            return; // it shares nothing, or somebody wants it so
        }
        api.meanwhile.add(address);
        if (!isMakingNatively()) {
            const reason = error instanceof api.Problem ? `${error.message} (${error.code})` : t('away_said');
            notice('warning', t('not_isolated_other', { name, reason }));
        }
    }
}

/** @param {{chatId: string}} told */
async function onPromptsSaved({ chatId }) {
    const chat = st.openChat();
    if (!chat || isMaking()) {
        return;
    }
    if (chatId === chat.name) {
        for (const address of [...awaited]) {
            awaited.delete(address);
            await isolateQuietly(address, address.slice(address.indexOf('/') + 1));
        }
    } else if (chatId) {
        // Also said of the chat that is being left; whether it is a fork without a record, the service knows.
        await isolateIfUnrecorded(st.addressOf(chatId, chat.groupId), chatId);
    }
}

/** @param {string} address @param {string} name */
async function isolateIfUnrecorded(address, name) {
    if (handled.has(address) || api.connection().state !== 'connected') {
        return;
    }
    const verified = await api.look('verify', { chat: address }).catch((error) => error);
    if (verified instanceof api.Problem && verified.kind === 'not_found') {
        awaited.add(address);
    } else if (codesOf(verified).some((code) => code === 'LEGACY_FORK' || code === 'INHERITED_STATE')) {
        await isolateQuietly(address, name);
    }
}

/** @param {any} verified @returns {string[]} */
const codesOf = (verified) => (verified?.findings ?? []).map((/** @type {any} */ finding) => finding.code);

const SHARES = ['SHARED_LOREBOOK', 'LEGACY_FORK', 'INHERITED_STATE'];

/**
 * An imported chat may be a copy of a fork, or of a chat that is there already.
 * @param {() => Promise<Response>} send
 * @param {string} path
 * @param {any} body
 */
async function importing(send, path, body) {
    const response = await send();
    const told = response.ok ? await response.clone().json().catch(() => ({})) : {};
    const isGroup = path.includes('/group/');
    const names = isGroup ? [told.res ?? ''] : Array.isArray(told.fileNames) ? told.fileNames : [];
    // The group lists what was imported only after this answer.
    const avatar = body instanceof FormData ? String(body.get('avatar_url') ?? '').replace(/\.png$/, '') : '';
    const folder = isGroup ? 'group:' : avatar;
    for (const name of names.map((/** @type {any} */ each) => String(each).replace(/\.jsonl$/, ''))) {
        if (folder && name) {
            const address = `${folder}/${name}`;
            const verified = await api.look('verify', { chat: address }).catch(() => null);
            if (codesOf(verified).some((code) => SHARES.includes(code))) {
                await isolateQuietly(address, name);
            }
        }
    }
    return response;
}

// --- reading a save ----------------------------------------------------------------------------------------------

/** Where the chat begins in a save: what stands before it is a few names. */
const CHAT = '"chat":[';

/**
 * The name in a save, read without parsing a whole chat.
 * @param {string} body
 * @param {boolean} isGroup
 * @returns {string | null}
 */
function nameIn(body, isGroup) {
    const start = body.indexOf(CHAT);
    try {
        const before = JSON.parse(`${body.slice(0, start).replace(/,\s*$/, '')}}`);
        const name = isGroup ? before.id : before.file_name;
        return typeof name === 'string' ? name : null;
    } catch {
        return null;
    }
}

/** @param {string} body @returns {any} */
function metadataIn(body) {
    const start = body.indexOf(CHAT) + CHAT.length;
    try {
        return JSON.parse(body.slice(start, endOfObject(body, start))).chat_metadata ?? null;
    } catch {
        return null;
    }
}

/** @param {string} text @param {number} start where a `{` stands @returns {number} the place after its `}` */
function endOfObject(text, start) {
    let depth = 0;
    let quoted = false;
    for (let i = start; i < text.length; i += 1) {
        const character = text[i];
        if (quoted) {
            if (character === '\\') {
                i += 1;
            } else if (character === '"') {
                quoted = false;
            }
        } else if (character === '"') {
            quoted = true;
        } else if (character === '{') {
            depth += 1;
        } else if (character === '}') {
            depth -= 1;
            if (depth === 0) {
                return i + 1;
            }
        }
    }
    return text.length;
}
