/**
 * Forks that others make: the swipe picker, Timelines and whoever else calls SillyTavern's own functions; and copies of
 * whole chats, as an import or a conversion to a group makes them.
 *
 * Each of them saves a new chat, so the page's requests are watched. A fork is isolated before the one who made it gets
 * the answer to his save, and so before it can open. Where a request cannot be read (compressed bodies), the event that
 * SillyTavern awaits before it opens a branch does the same.
 *
 * | State | A chat is in it | Then |
 * |---|---|---|
 * | handled | while it is isolated, and afterwards | it is not isolated again, until a new file has its name |
 * | awaited | when its file was not there yet | tried again with the next save of the open chat, a few times |
 * | meanwhile | when nobody could isolate it | offered for isolation when the service is back, also after a reload |
 * | told | when its owner was told that it is an old fork | left as it is |
 * | isMaking | while the page points to the fork that Forklore made | none of the above |
 * | isMakingNatively | while SillyTavern makes one at our wish | meanwhile, and nothing is said: that was done before |
 */
import * as api from './api.js';
import { isMaking, isMakingNatively } from './creating.js';
import { notice } from './dialogs.js';
import { told } from './opening.js';
import { deletingBook, onBookWritten } from './renaming.js';
import { settings } from './settings.js';
import * as st from './sillytavern.js';
import { because, loaded, t, toldOfProblem } from './wording.js';

/** Chats that need not be isolated a second time. @type {Set<string>} */
const handled = new Set();
/** Chats that were to be isolated before their file was there, and how often that was tried. @type {Map<string, number>} */
const awaited = new Map();
const TRIES = 3;

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
        if (path === '/api/worldinfo/edit') {
            onBookWritten(init?.body);
        } else if (path === '/api/worldinfo/delete') {
            return deletingBook(() => original.call(window, input, init), init?.body);
        }
        return original.call(window, input, init);
    };
    st.eventSource.on(st.eventTypes.ITEMIZED_PROMPTS_SAVED ?? 'itemized_prompts_saved', onPromptsSaved);
    stopWhereFailuresAreTold();
}

/** @param {RequestInfo | URL} input */
function pathOf(input) {
    const text = typeof input === 'string' ? input : input instanceof URL ? input.pathname : '';
    return /^\/api\/(chats|worldinfo)\//.test(text) ? text : '';
}

/**
 * @param {() => Promise<Response>} send
 * @param {string} path
 * @param {any} body
 */
async function saving(send, path, body) {
    const isGroup = path.includes('/group/');
    const names = typeof body === 'string' ? namesIn(body) : null;
    const name = (isGroup ? names?.id : names?.file_name) ?? null;
    const chat = st.openChat();
    const isOfOpen = name === null ? st.isSaving() : name === chat?.name;
    const own = chat !== null && isOfOpen && isGroup === Boolean(chat.groupId);
    const sent = st.inMemory(); // a message may come while it is being written
    const isOther = !own && name !== null && typeof body === 'string' && !isMaking(name);
    const save = isOther ? { name, groupId: groupOf(name, isGroup), metadata: metadataIn(body) } : null;
    await loaded; // what is said of it needs words
    const reason = save && ((await whyRefused(save, chat, names?.avatar_url)) ?? (await whyRefusedOfOlder(save, chat)));
    if (save && reason) {
        await st.unlist(save.name, save.groupId);
        throw refusal(reason);
    }
    const response = await send();
    if (!response.ok) {
        return response;
    }
    if (own && st.isStillOpen(chat)) {
        st.onDisk.saves += 1;
        st.noteOnDisk(sent);
    } else if (name === null) {
        st.forgetOnDisk();
    }
    if (save) {
        await isolateSaved(save, isGroup, chat);
    }
    return response;
}

/** What a save says of its being a fork, for when the service cannot be asked. @param {Save} save */
const looksLikeFork = ({ name, metadata }) => Boolean(metadata?.main_chat) && metadata?.forklore?.chat !== name;

/**
 * Why a save must not be made: it would make a fork of the open chat that nobody can isolate, and the user wants none.
 * @param {Save} save
 * @param {st.OpenChat | null} chat
 * @param {string} [avatar]
 * @returns {Promise<string | null>}
 */
async function whyRefused(save, chat, avatar) {
    const { name, groupId, metadata } = save;
    if (!looksLikeFork(save) || metadata.main_chat !== chat?.name) {
        return null;
    }
    if (isMakingNatively() || settings().whenAway === 'allow' || (await api.isThere())) {
        return null;
    }
    const isThere = (await st.readFile(name, groupId, avatar)).length > 0;
    return isThere ? null : api.whyNot(api.connection().state, t('away_reason'));
}

/**
 * Why a save must not be made in a group of an older SillyTavern: the fork's metadata is in the group's file, where it
 * names its parent's lorebook, and nobody can isolate it.
 * @param {Save} save
 * @param {st.OpenChat | null} chat
 * @returns {Promise<string | null>}
 */
async function whyRefusedOfOlder({ name, groupId, metadata }, chat) {
    const past = groupId && metadata === null ? st.pastMetadata(groupId) : null;
    if (!past?.[name]?.world_info || past[name].main_chat !== chat?.name || isMakingNatively()) {
        return null;
    }
    if ((await st.readFile(name, groupId)).length) {
        return null; // it was there before
    }
    delete past[name];
    return t('old_group');
}

/** A save that was refused; the user has been told. */
class Refused extends Error {}

/** What stops whoever is about to be told that a save has failed. @type {Refused | null} */
let stopping = null;

/**
 * Say why a save is refused; return what its caller gets.
 * @param {string} reason
 */
function refusal(reason) {
    notice('error', because('caught', reason));
    const refused = new Refused(reason);
    stopping = refused;
    setTimeout(() => {
        stopping = null;
    });
    return refused;
}

/**
 * SillyTavern tells of a failed save with a notice and goes on: it would link to a chat that is not there and open it.
 * After a refusal that notice is where it ends, with the refusal for whoever wanted the fork.
 */
function stopWhereFailuresAreTold() {
    const tell = toastr.error;
    toastr.error = (...told) => {
        const refused = stopping;
        stopping = null;
        if (refused) {
            throw refused;
        }
        return tell.apply(toastr, told);
    };
    window.addEventListener('unhandledrejection', (event) => event.reason instanceof Refused && event.preventDefault());
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
 * Isolate what was saved beside the open chat, if it is a fork or a copy.
 * @param {Save} save
 * @param {boolean} isGroup
 * @param {st.OpenChat | null} chat the chat that is open
 */
async function isolateSaved(save, isGroup, chat) {
    if (!chat) {
        return;
    }
    const address = st.addressOf(save.name, isGroup ? save.groupId : null);
    const isThere = await api.isThere();
    const verified = isThere ? await api.look('verify', { chat: address }).catch(() => null) : null;
    // A chat that becomes a group's keeps lorebook and identity, but loses its parent.
    const isConverted = isGroup && !chat.groupId;
    const isFork = verified ? verified.kind !== 'main' : looksLikeFork(save);
    if (isFork || (isConverted && shares(verified))) {
        handled.delete(address); // a new file, even if there was one of that name before
        told.drop(address);
        await isolateQuietly(address, save.name);
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
        if (!(await api.isThere())) {
            throw new api.Away(api.connection().state);
        }
        const isolated = await api.change('isolate', { chat: address }, { timeout: 120_000 });
        await st.refreshBooks(isolated.lorebook);
        awaited.delete(address);
        api.meanwhile.drop(address);
        if (isolated.outcome === 'isolated') {
            notice('info', t('isolated', { name, copy: isolated.parent === null }));
        }
    } catch (error) {
        handled.delete(address);
        if (error instanceof api.Problem && error.kind === 'not_found') {
            tryLater(address);
            return;
        }
        if (error instanceof api.Problem && (error.code === 'NOT_A_FORK' || error.code === 'SHARED_ON_PURPOSE')) {
            return; // it shares nothing, or somebody wants it so
        }
        api.meanwhile.add(address);
        if (!isMakingNatively()) {
            const isTold = error instanceof api.Problem;
            const reason = isTold ? `${toldOfProblem(error).message} (${error.code})` : api.whyNot(api.connection().state);
            notice('warning', because('not_isolated', reason, { name }));
        }
    }
}

/** @param {string} address */
function tryLater(address) {
    const tries = (awaited.get(address) ?? 0) + 1;
    if (tries > TRIES) {
        awaited.delete(address); // it was never saved
    } else {
        awaited.set(address, tries);
    }
}

/** @param {{chatId: string}} saved */
async function onPromptsSaved({ chatId }) {
    const chat = st.openChat();
    if (!chat || isMaking(chatId)) {
        return;
    }
    if (chatId === chat.name) {
        for (const address of [...awaited.keys()]) {
            await isolateQuietly(address, address.slice(address.indexOf('/') + 1));
        }
    } else if (chatId) {
        // Also said of the chat that is being left; whether it is a fork without a record, the service knows.
        await isolateIfUnrecorded(st.addressOf(chatId, chat.groupId), chatId);
    }
}

/** @param {string} address @param {string} name */
async function isolateIfUnrecorded(address, name) {
    if (handled.has(address) || told.has(address) || api.connection().state !== 'connected') {
        return;
    }
    const verified = await api.look('verify', { chat: address }).catch((error) => error);
    if (verified instanceof api.Problem && verified.kind === 'not_found') {
        tryLater(address);
    } else if (codesOf(verified).some((code) => code === 'LEGACY_FORK' || code === 'INHERITED_STATE')) {
        await isolateQuietly(address, name);
    }
}

/** @param {any} verified @returns {string[]} */
const codesOf = (verified) => (verified?.findings ?? []).map((/** @type {any} */ finding) => finding.code);

/** Whether a timeline has memories in common with others, of whom one could be isolated. @param {any} verified */
const shares = (verified) =>
    (verified?.findings ?? []).some((/** @type {any} */ { repairs }) =>
        ['isolate', 'isolate-others'].some((each) => repairs.includes(each)),
    );

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
            if (shares(verified)) {
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
 * The names in a save, read without parsing a whole chat.
 * @param {string} body
 * @returns {{id?: string, file_name?: string, avatar_url?: string} | null}
 */
function namesIn(body) {
    const start = body.indexOf(CHAT);
    try {
        return JSON.parse(`${body.slice(0, start).replace(/,\s*$/, '')}}`);
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
