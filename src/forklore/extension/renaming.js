/**
 * A lorebook is renamed in SillyTavern's editor: it writes the new one, deletes the old one, and follows in the open chat
 * alone. Nothing on the disk tells that the two are one, so it is seen here, and every timeline follows.
 */
import * as api from './api.js';
import { notice } from './dialogs.js';
import { editOnDisk } from './editing.js';
import { remembered } from './settings.js';
import * as st from './sillytavern.js';
import { t } from './wording.js';

const TOGETHER_MS = 15_000;
/** SillyTavern follows in the open chat first. */
const AFTERWARDS_MS = 1_000;

/** A lorebook that was not there before. */
let written = { name: '', text: '', when: 0 };
/** What was renamed and is not followed yet, each a pair of names as JSON: also while the service is away. */
const renamed = remembered('renamed-books');

/** SillyTavern writes a lorebook. @param {any} body */
export function onBookWritten(body) {
    const { name, data } = typeof body === 'string' ? parsed(body) : {};
    if (typeof name === 'string' && !st.bookNames().includes(name)) {
        written = { name, text: textOf(data), when: Date.now() };
    }
}

/**
 * SillyTavern deletes a lorebook; if it has just written the same one under another name, it was renamed.
 * @param {() => Promise<Response>} send
 * @param {any} body
 */
export async function deletingBook(send, body) {
    const { name } = typeof body === 'string' ? parsed(body) : {};
    const isSoon = written.name && written.name !== name && Date.now() - written.when < TOGETHER_MS;
    const isSame = isSoon && textOf(await st.readBook(name).catch(() => null)) === written.text;
    const response = await send();
    if (response.ok && isSame) {
        renamed.add(JSON.stringify([name, written.name]));
        setTimeout(() => void followBooks().catch((error) => console.warn('[Forklore]', error)), AFTERWARDS_MS);
    }
    return response;
}

/** @param {string} body @returns {any} */
function parsed(body) {
    try {
        return JSON.parse(body) ?? {};
    } catch {
        return {};
    }
}

/** What a lorebook tells; the editor adds fields of its own when it opens one. @param {any} book */
const textOf = (book) =>
    JSON.stringify(
        Object.values(book?.entries ?? {}).map((/** @type {any} */ { uid, comment, content, key }) => [uid, comment, content, key]),
    );

/** Let every timeline whose lorebook was renamed follow the new name. */
export async function followBooks() {
    for (const pair of renamed.all()) {
        const [old, now] = JSON.parse(pair);
        const chat = st.openChat();
        const act = () => follow({ book: { old, new: now } });
        const count = await (chat ? editOnDisk(chat, act) : act());
        renamed.drop(pair);
        if (count) {
            notice('success', t('renamed', { count }));
        }
    }
}

/**
 * Let whatever names something follow its new name.
 * @param {{chat: string} | {book: {old: string, new: string}}} renamed
 * @returns {Promise<number>} in how many places it was followed
 */
export const follow = async (renamed) => (await api.change('follow', renamed, { timeout: 120_000 })).followed.length;
