/**
 * The one place that knows SillyTavern's own modules. They are imported whole: a name that an older version lacks is
 * then undefined instead of an error that would keep the extension from loading.
 */
import * as script from '../../../../script.js';
import * as bookmarks from '../../../bookmarks.js';
import * as groupChats from '../../../group-chats.js';
import * as popups from '../../../popup.js';
import * as user from '../../../user.js';
import * as worldInfo from '../../../world-info.js';
import { makeEdit } from './edits.js';

/** Everything SillyTavern offers to extensions, as it is now: parts of it go stale when the chat changes. */
export const context = () => SillyTavern.getContext();

export const { eventSource, event_types: eventTypes } = script;

/** SillyTavern moves all notices into the dialog that is open; they stay when it goes. */
export const bringNoticesBack = () => popups.fixToastrForDialogs?.();

/** Who is logged in to SillyTavern. @returns {string} */
export const userHandle = () => user.getCurrentUserHandle?.() ?? '';

/**
 * A chat that is open in the page.
 * @typedef {object} OpenChat
 * @property {string} address how Forklore calls it
 * @property {string} name
 * @property {string | null} groupId
 */

/**
 * @param {string} name
 * @param {string | null} [groupId]
 * @returns {string}
 */
export function addressOf(name, groupId = groupChats.selected_group ?? null) {
    if (groupId) {
        return `group:${groupId}/${name}`;
    }
    const character = context().characters[context().characterId];
    return `${String(character?.avatar ?? '').replace(/\.png$/, '')}/${name}`;
}

/** @returns {OpenChat | null} */
export function openChat() {
    const { groupId, characterId } = context();
    const name = script.getCurrentChatId();
    if (!name || (!groupId && characterId === undefined)) {
        return null;
    }
    return { address: addressOf(name, groupId ?? null), name, groupId: groupId ?? null };
}

/** @param {OpenChat | null} chat */
export const isStillOpen = (chat) => chat !== null && openChat()?.address === chat.address;

/** Whether a message is being written. */
export const isGenerating = () =>
    Boolean(script.is_send_press || groupChats.is_group_generating || document.body.dataset.generating === 'true');

/**
 * Wait until something holds.
 * @param {() => boolean} holds
 * @param {number} milliseconds
 * @returns {Promise<boolean>} whether it came to hold in time
 */
export async function until(holds, milliseconds) {
    const end = Date.now() + milliseconds;
    while (!holds()) {
        if (Date.now() > end) {
            return false;
        }
        await new Promise((resolve) => setTimeout(resolve, 30));
    }
    return true;
}

/** What the page has last read from, or written to, the file of the open chat. */
export const onDisk = { address: '', messages: 0, last: '', saves: 0 };

/** What the page has of the open chat now. */
export function inMemory() {
    const { chat } = context();
    return { address: openChat()?.address ?? '', messages: chat.length, last: String(chat.at(-1)?.send_date ?? '') };
}

/** Note what is in the file of the open chat: what the page has now, or had when it was sent. */
export const noteOnDisk = (there = inMemory()) => Object.assign(onDisk, there);

/** Nobody knows what is in the file: something was written that could not be read. */
export const forgetOnDisk = () => noteOnDisk({ address: '', messages: 0, last: '' });

/** Whether SillyTavern is saving the chat that is open, and not another one. */
export const isSaving = () => script.isChatSaving;

/**
 * Save the open chat. If another one is opened before its turn has come, nothing is saved.
 * @returns {Promise<boolean>} whether the server took it
 */
export async function saveChat() {
    const open = openChat();
    const first = context().chat[0]; // a chat that is being left is emptied before its name goes
    if (!(await until(() => !script.isChatSaving, 30_000)) || !isStillOpen(open) || context().chat[0] !== first) {
        return false;
    }
    const before = onDisk.saves;
    await script.saveChatConditional();
    return onDisk.saves > before && isStillOpen(open);
}

/**
 * Read a chat's file.
 * @param {string} name
 * @param {string | null} groupId
 * @param {string} [avatar] the character's, for a chat that is no group's
 * @returns {Promise<any[]>} header and messages; empty when there is none
 */
export async function readFile(name, groupId, avatar = context().characters[context().characterId]?.avatar) {
    const response = await fetch(groupId ? '/api/chats/group/get' : '/api/chats/get', {
        method: 'POST',
        headers: context().getRequestHeaders(),
        body: JSON.stringify(groupId ? { id: name } : { file_name: name, avatar_url: avatar }),
        cache: 'no-store',
    });
    const lines = await response.json();
    return Array.isArray(lines) ? lines : [];
}

/** @returns {string[]} the names of the lorebooks that the page knows */
export const bookNames = () => worldInfo.world_names ?? [];

/** Read a lorebook's file. @param {string} name @returns {Promise<any>} */
export async function readBook(name) {
    const response = await fetch('/api/worldinfo/get', {
        method: 'POST',
        headers: context().getRequestHeaders(),
        body: JSON.stringify({ name }),
        cache: 'no-store',
    });
    return response.json();
}

/** Whether a message is being edited: what was typed is nowhere but in the page. */
export const isEditing = () => document.querySelector('#chat .edit_textarea') !== null;

/** Read the open chat anew from its file. */
export const reloadChat = () => script.reloadCurrentChat();

/**
 * @param {string} name
 * @param {string | null} groupId
 */
export async function openByName(name, groupId) {
    if (groupId) {
        await groupChats.openGroupChat(groupId, name);
    } else {
        await script.openCharacterChat(name);
    }
}

/**
 * Let the page know a lorebook that came, went or changed on disk.
 * @param {...(string | null | undefined)} names
 */
export async function refreshBooks(...names) {
    for (const name of names) {
        if (name) {
            worldInfo.worldInfoCache.delete(name);
        }
    }
    await worldInfo.updateWorldInfoList();
}

/**
 * Make the edits that the service leaves to the page, and save: those of the open chat, and those of groups.
 * @param {{chat: string | null, group: string | null, edits: import('./edits.js').Edit[]}[]} left
 * @param {string} [open] how the service calls the open chat
 * @returns {Promise<boolean>} whether what was made of the chat is saved
 */
export async function makeEdits(left, open = openChat()?.address) {
    const { chat, chatMetadata, groups } = context();
    const first = chat[0];
    const header = { chat_metadata: chatMetadata };
    const lineOf = (/** @type {number | null} */ line) => (line === null ? null : line < 0 ? header : chat[line]);
    // Everything is made before anything is waited for.
    const ofChat = left.filter((each) => each.chat !== null && each.chat === open).flatMap(({ edits }) => edits);
    const made = ofChat.filter((edit) => makeEdit(lineOf(edit.line), edit));
    const changed = groups.filter((/** @type {any} */ group) => {
        const ofGroup = left.filter((each) => each.group === group.id).flatMap(({ edits }) => edits);
        return ofGroup.filter((edit) => makeEdit(group, edit)).length > 0;
    });
    made.forEach(({ line }) => showFlag(line ?? -1));
    for (const { id } of changed) {
        await groupChats.editGroup(id, true, false);
    }
    // A chat that was left, or read anew, has none of it.
    return made.length === 0 || (chat[0] === first && saveChat());
}

/** Let the flag of a message lead to its checkpoint. @param {number} at */
function showFlag(at) {
    const link = context().chat[at]?.extra?.bookmark_link;
    if (link) {
        bookmarks.updateBookmarkDisplay($(`#chat .mes[mesid="${at}"]`), link);
    }
}

/**
 * Take a chat that is no more out of its group; the page has the groups in memory and would write it back.
 * @param {string} name
 * @param {string | null} groupId
 */
export async function unlist(name, groupId) {
    const group = context().groups.find((/** @type {any} */ each) => each.id === groupId);
    if (group?.chats.includes(name)) {
        group.chats.splice(group.chats.indexOf(name), 1);
        await groupChats.editGroup(group.id, true, false);
    }
}

/**
 * What an older version keeps of the other chats of a group; null in a newer one.
 * @param {string} groupId
 * @returns {Record<string, any> | null}
 */
export const pastMetadata = (groupId) =>
    context().groups.find((/** @type {any} */ each) => each.id === groupId)?.past_metadata ?? null;

/**
 * What extensions keep in the settings under the name of a lorebook or a chat, once more under a fork's names.
 * What is there already stays: the fork may have gone on.
 * @param {{path: string[], old: string, new: string, put: Record<string, any>, lists: string, uids: any[]}[]} steps
 * @returns {string[]} what was copied, for the log
 */
export function copySettings(steps) {
    const { extensionSettings, saveSettingsDebounced } = context();
    const copied = [];
    for (const step of steps) {
        const known = held({ extension_settings: extensionSettings }, step.path);
        if (known && Object.hasOwn(known, step.old) && !Object.hasOwn(known, step.new)) {
            const copy = without(structuredClone(known[step.old]), step.lists, new Set(step.uids));
            known[step.new] = isObject(copy) ? Object.assign(copy, step.put) : copy;
            copied.push(`${step.path.join('.')}.${step.new}`);
        }
    }
    if (copied.length) {
        saveSettingsDebounced();
    }
    return copied;
}

/** @param {any} value @returns {boolean} */
const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

/**
 * @param {any} value
 * @param {string[]} path
 * @returns {Record<string, any> | null} the object that a path leads to
 */
function held(value, path) {
    const found = path.reduce((/** @type {any} */ at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : null), value);
    return isObject(found) ? found : null;
}

/**
 * A value without some UIDs in its lists of that name, wherever they are; `*` are all lists.
 * @param {any} value
 * @param {string} lists
 * @param {Set<any>} uids
 * @param {string} [name] what the value is called
 * @returns {any}
 */
function without(value, lists, uids, name = '*') {
    if (!uids.size || value === null || typeof value !== 'object') {
        return value;
    }
    if (Array.isArray(value)) {
        const kept = lists === '*' || name === lists ? value.filter((each) => !uids.has(each)) : value;
        return kept.map((each) => without(each, lists, uids));
    }
    for (const [key, each] of Object.entries(value)) {
        value[key] = without(each, lists, uids, key);
    }
    return value;
}

/** Let a fork have the itemised prompts of the open chat. @param {string} fork */
export const passOn = async (fork) => void (await script.saveItemizedPrompts?.(fork));

/** What SillyTavern does by itself, for when the service is away and the user allows it. */
export const native = {
    /** @param {number} at @param {string | null} [name] */
    checkpoint: (at, name = null) => bookmarks.createNewBookmark(at, { forceName: name }),
    /** @param {number} at @param {number | null} [swipe] */
    branch: (at, swipe = null) => bookmarks.branchChat(at, { swipeId: swipe }),
};

/** @returns {Promise<string[]>} the names of the chats beside the open one */
export async function chatNames() {
    const { groupId, groups, characters, characterId } = context();
    if (groupId) {
        return [...(groups.find((/** @type {any} */ each) => each.id === groupId)?.chats ?? [])];
    }
    const response = await fetch('/api/characters/chats', {
        method: 'POST',
        headers: context().getRequestHeaders(),
        body: JSON.stringify({ avatar_url: characters[characterId]?.avatar, simple: true }),
    });
    const found = response.ok ? await response.json() : {};
    return Object.values(found).map((/** @type {any} */ each) => String(each.file_name).replace(/\.jsonl$/, ''));
}
