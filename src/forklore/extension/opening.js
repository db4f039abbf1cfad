/** Opening a chat: it is verified, the user hears what it is, and what can be done about what is wrong. */
import * as api from './api.js';
import { choose, element, findingElement, heading, notice, showProblem } from './dialogs.js';
import { editOnDisk } from './editing.js';
import { log } from './log.js';
import { remembered, settings } from './settings.js';
import * as st from './sillytavern.js';
import { because, named, recapLines, t, toldOf } from './wording.js';

/** @typedef {import('./wording.js').Finding} Finding */

const QUIET_MS = 300;
const FRESH_MS = 2_000;

/** Old forks the user has been told of. */
export const told = remembered('legacy-told');
/** What each chat was last found to have, so that nothing is said twice. @type {Map<string, {when: number, codes: string}>} */
const verified = new Map();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let announced = '';

export function startOpening() {
    st.eventSource.on(st.eventTypes.CHAT_CHANGED, onChatChanged);
    api.on('state', (state) => state === 'connected' && onChatChanged());
    api.on('findings', ({ chat, ok }) => {
        if (!ok && chat === st.openChat()?.address) {
            verifyOpen({ anew: true });
        }
    });
    window.addEventListener('click', onBackToParent, true);
}

/** However often the chat changes, the one that stays open is verified, and once. */
export function onChatChanged() {
    clearTimeout(timer);
    timer = setTimeout(() => void verifyOpen(), QUIET_MS);
}

/** @param {{anew?: boolean}} [options] */
export async function verifyOpen({ anew = false } = {}) {
    const chat = st.openChat();
    if (api.connection().state !== 'connected') {
        return;
    }
    if (announced !== (chat?.address ?? '')) {
        announced = chat?.address ?? '';
        void api.change('open', { chat: chat?.address ?? null }).catch(() => {});
    }
    const known = chat && verified.get(chat.address);
    if (!chat || (!anew && known && Date.now() - known.when < FRESH_MS)) {
        return;
    }
    verified.set(chat.address, { when: Date.now(), codes: known?.codes ?? '' });
    try {
        await verifyChat(chat);
    } catch (error) {
        if (error instanceof api.Problem && error.code !== 'CHAT_NOT_FOUND') { // a new chat has no file yet
            notice('error', because('load_failed', api.problemText(error)));
        }
        if (!(error instanceof api.Away)) {
            console.warn('[Forklore]', error);
        }
    }
}

/** @param {st.OpenChat} chat */
async function verifyChat(chat) {
    log('[1/3] Opened:', chat.address);
    const answer = await api.look('verify', { chat: chat.address });
    log('[2/3] Verified:', answer.kind, answer.facts, answer.findings);
    if (!st.isStillOpen(chat)) {
        return;
    }
    const copied = st.copySettings(answer.settings);
    if (copied.length) {
        log('Copied in the settings:', copied);
    }
    const findings = answer.findings.filter((/** @type {Finding} */ finding) => !wasTold(finding, chat.address));
    if (answer.kind !== 'main') {
        findings.push(...(await hiddenHistory(chat)));
    }
    const codes = findings.map((/** @type {Finding} */ finding) => finding.code).join();
    const before = verified.get(chat.address)?.codes ?? '';
    verified.set(chat.address, { when: Date.now(), codes });
    const { notices } = settings();
    if (answer.kind !== 'main' && notices === 'all' && !before) {
        await showLoaded(chat, answer.kind);
    }
    if (findings.length && codes !== before && notices !== 'none') {
        tellFindings(chat, findings);
    }
    log('[3/3] Told:', codes || 'nothing is wrong');
}

/** What is said once of a chat: it stays so, and nothing is wrong now. */
const SAID_ONCE = ['LEGACY_FORK', 'GROUP_FORMAT_OLD'];

/** @param {Finding} finding @param {string} address */
const wasTold = (finding, address) => SAID_ONCE.includes(finding.code) && told.has(address);

/**
 * A fork at a scene break can open with every message hidden from the model. That is normal, so `verify` does not tell.
 * @param {st.OpenChat} chat
 * @returns {Promise<Finding[]>}
 */
async function hiddenHistory(chat) {
    const offer = await api.look('repair', { chat: chat.address, code: 'HISTORY_HIDDEN' }).catch(() => null);
    return offer?.repairs.length ? [offer.finding] : [];
}

/** @param {st.OpenChat} chat @param {'checkpoint' | 'branch'} kind */
async function showLoaded(chat, kind) {
    const record = (await api.look('status', { chat: chat.address })).checkpoint_state;
    if (!record || record.chat_id !== chat.name || !st.isStillOpen(chat)) {
        return;
    }
    const recaps = recapLines(record);
    const hasScenes = record.has_scene_break || recaps.length > 0;
    const lines = [
        hasScenes ? t('scene', { name: record.scene_break_name }) : t('chat', { name: chat.name }),
        ...recaps,
        t('created', { when: new Date(record.timestamp).toLocaleString() }),
    ];
    notice('info', lines.join('\n'), t('loaded', { kind }), { timeOut: 5_000 });
}

/** What does not wait; others that use the lorebook of this chat do: it keeps it, and they are told in their turn.
 * @param {Finding} finding
 */
const isGrave = ({ severity, code, repairs }) =>
    code === 'LEGACY_FORK' || (severity === 'error' && !repairs.includes('isolate-others'));

/** @param {st.OpenChat} chat @param {Finding[]} findings */
function tellFindings(chat, findings) {
    // Of an old fork, and of what follows from its being one, a popup tells once.
    const isKnown = told.has(chat.address) && !findings.some(({ code }) => code.startsWith('LOREBOOK_'));
    if (!isKnown && findings.some((finding) => isGrave(finding))) {
        void showFindings(chat, findings);
        return;
    }
    if (findings.some(({ code }) => code === 'GROUP_FORMAT_OLD')) {
        told.add(chat.address);
    }
    const text = [...findings.map((finding) => toldOf(finding).message), t('findings_more')].join('\n');
    notice('warning', text, t('findings_title'), { onclick: () => void showFindings(chat, findings) });
}

// --- repairs -----------------------------------------------------------------------------------------------------

let isShown = false;

/** @param {st.OpenChat} chat @param {Finding[]} findings */
async function showFindings(chat, findings) {
    if (isShown) {
        return;
    }
    isShown = true;
    try {
        const choice = await chooseRepair(chat, findings);
        for (const finding of findings) {
            if (finding.code === 'LEGACY_FORK') {
                told.add(chat.address);
            }
        }
        if (choice && st.isStillOpen(chat)) {
            await repair(chat, choice.code, choice.repair, choice.does);
        }
    } catch (error) {
        if (error instanceof api.Problem) {
            showProblem(error, t('findings_title'));
        } else if (!(error instanceof api.Away)) {
            throw error;
        }
    } finally {
        isShown = false;
    }
}

/** @typedef {{code: string, repair: string, does: string}} Choice */

/** Repairs that are about the whole timeline. */
const OF_ALL = ['isolate', 'share'];

/** @param {st.OpenChat} chat @param {Finding[]} findings @returns {Promise<Choice | null>} */
async function chooseRepair(chat, findings) {
    const content = element('div', 'forklore-dialog', heading(t('findings_title')));
    /** @type {Choice[]} */
    const choices = [];
    for (const finding of findings) {
        content.append(findingElement(finding));
        const offered = finding.repairs.length ? await offeredRepairs(chat, finding) : [];
        for (const { repair: name, does } of offered) {
            // To isolate is one thing, whatever led to it; a new name can be that of a lorebook or of a parent.
            if (!OF_ALL.includes(name) || !choices.some((each) => each.repair === name)) {
                choices.push({ code: finding.code, repair: name, does });
            }
        }
    }
    const isTwice = (/** @type {Choice} */ { does }) => choices.filter((each) => each.does === does).length > 1;
    const buttons = choices.map((value) => ({ label: isTwice(value) ? `${value.does} (${value.code})` : value.does, value }));
    return choose(content, buttons, { wide: true });
}

/** @param {st.OpenChat} chat @param {Finding} finding @returns {Promise<{repair: string, does: string}[]>} */
async function offeredRepairs(chat, finding) {
    const offer = await api.look('repair', { chat: chat.address, code: finding.code }).catch(() => null);
    /** @type {{repair: string, does: string}[]} */
    const offered = (offer?.repairs ?? []).map((/** @type {any} */ each) => ({
        repair: each.repair,
        does: named(`repair.${each.repair}`, each.does),
    }));
    return offered;
}

/**
 * Let the service edit the chat's file: saved before, read anew afterwards.
 * @param {st.OpenChat} chat
 * @param {string} code
 * @param {string} name
 * @param {string} does
 */
async function repair(chat, code, name, does) {
    await editOnDisk(chat, () =>
        name === 'isolate' || name === 'share'
            ? api.change('isolate', { chat: chat.address, share: name === 'share' }, { timeout: 120_000 })
            : api.change('repair', { chat: chat.address, code, with: name }, { timeout: 120_000 }),
    );
    notice('success', t('repaired', { what: does }));
    verified.delete(chat.address);
    await verifyOpen({ anew: true });
}

export { repair };

// --- back to the parent ------------------------------------------------------------------------------------------

/** SillyTavern does nothing at all when the parent is gone. @param {MouseEvent} event */
async function onBackToParent(event) {
    if (!(event.target instanceof Element) || !event.target.closest('#option_back_to_main')) {
        return;
    }
    const parent = st.context().chatMetadata.main_chat;
    if (parent && !(await st.chatNames()).includes(parent)) {
        notice('warning', t('parent_gone', { name: parent }));
    }
}
