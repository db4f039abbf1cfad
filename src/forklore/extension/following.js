/** What happens to chats and to the service elsewhere is followed: deleted, renamed, away, back. */
import * as api from './api.js';
import { isolateQuietly } from './catching.js';
import { choose, element, heading, notice, showProblem } from './dialogs.js';
import { editOnDisk, readAnew } from './editing.js';
import { onChatChanged, repair } from './opening.js';
import { follow, followBooks } from './renaming.js';
import { remembered } from './settings.js';
import * as st from './sillytavern.js';
import { t } from './wording.js';

export function startFollowing() {
    const events = st.eventTypes;
    st.eventSource.on(events.CHAT_DELETED, onDeleted);
    st.eventSource.on(events.GROUP_CHAT_DELETED, onDeleted);
    if (events.CHAT_RENAMED) {
        st.eventSource.on(events.CHAT_RENAMED, () => void onRenamed());
    }
    st.eventSource.on(events.WORLDINFO_SETTINGS_UPDATED, () => onChatChanged());
    api.on('state', onState);
    api.on('operation', (operation) => {
        if (!api.isOurs(operation) && operation.edited.includes(st.openChat()?.address) && !isAwaited) {
            isAwaited = true;
            looking = looking.then(onEdited).catch(report);
        }
    });
}

// --- the service -------------------------------------------------------------------------------------------------

/** What was said of the service's being out of reach, while it is. @type {{state: api.State, toast: any} | null} */
let said = null;

/** @param {api.State} state */
function onState(state) {
    if (state === 'connected') {
        if (said) {
            said.toast?.remove();
            said = null;
            notice('success', t('back_again'));
        }
        void offerMeanwhile();
        void followBooks().catch(report);
    } else if ((state === 'away' || state === 'unpaired') && said?.state !== state) {
        said?.toast?.remove();
        said = { state, toast: notice('warning', api.whyNot(state)) };
    }
}

let isOffering = false;

async function offerMeanwhile() {
    const addresses = api.meanwhile.all();
    if (!addresses.length || isOffering) {
        return;
    }
    isOffering = true;
    try {
        await offerIsolation(addresses);
    } finally {
        isOffering = false;
    }
}

/** @param {string[]} addresses */
async function offerIsolation(addresses) {
    const list = element('ul', '', ...addresses.map((address) => element('li', '', address)));
    const content = element('div', 'forklore-dialog', heading(t('meanwhile_title')), element('p', '', t('meanwhile')), list);
    if (!(await choose(content, [{ label: t('isolate_all'), value: true }], { cancel: t('later') }))) {
        return;
    }
    for (const address of addresses) {
        const chat = st.openChat();
        if (chat?.address === address) {
            await repair(chat, 'LEGACY_FORK', 'isolate', t('isolate')).catch(report);
            api.meanwhile.drop(address);
        } else {
            await isolateQuietly(address, address.slice(address.indexOf('/') + 1));
        }
    }
}

// --- Forklore elsewhere -------------------------------------------------------------------------------------------

/** One after the other. @type {Promise<void>} */
let looking = Promise.resolve();
let isAwaited = false;

/** What a person has written. @param {any[]} messages */
const textsIn = (messages) => JSON.stringify(messages.map((each) => [each.name, each.mes, each.send_date]));

/**
 * Forklore's page or command line has edited the chat that is open here. It is read anew: the next save would write
 * back what the page has in memory.
 */
async function onEdited() {
    isAwaited = false;
    const chat = st.openChat();
    if (!chat) {
        return;
    }
    await st.until(() => !st.isSaving(), 10_000);
    const [header, ...messages] = await st.readFile(chat.name, chat.groupId);
    if (!header || !st.isStillOpen(chat)) {
        return;
    }
    const { chat: now } = st.context();
    if (textsIn(messages) === textsIn(now) && !st.isGenerating() && !st.isEditing() && !st.isSaving()) {
        await readAnew(chat);
        notice('info', t('read_anew'));
        return;
    }
    notice('warning', `${t('changed_outside')}\n${t('reload')}`, 'Forklore', {
        onclick: () => void readAnew(chat).catch(report),
        timeOut: 20_000,
    });
}

// --- chats -------------------------------------------------------------------------------------------------------

const QUIET_MS = 500;

/** Lorebooks that nobody names and that are to stay: they are not offered a second time. */
const kept = remembered('orphans-kept');
/** One question after the other. @type {Promise<void>} */
let asking = Promise.resolve();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** A chat was deleted in SillyTavern; its lorebook may be left without anybody who names it. Several are one question. */
function onDeleted() {
    clearTimeout(timer);
    timer = setTimeout(() => {
        asking = asking.then(offerLeftovers).catch(report);
    }, QUIET_MS);
}

async function offerLeftovers() {
    /** @type {string[]} */
    const free = (await api.look('cleanup')).books.map((/** @type {any} */ book) => book.name);
    const names = free.filter((name) => !kept.has(name));
    if (!names.length) {
        return;
    }
    const list = element('ul', '', ...names.map((name) => element('li', '', name)));
    const content = element('div', 'forklore-dialog', heading(t('orphan_title')), element('p', '', t('orphan_question')), list);
    if (!(await choose(content, [{ label: t('to_trash'), value: true }], { cancel: t('keep') }))) {
        names.forEach(kept.add);
        return;
    }
    // These and no others, however many are free by now; and of these only those that still are.
    const done = await api.change('cleanup', { apply: true, books: names });
    await st.refreshBooks(...names);
    if (done.operation) {
        notice('success', t('trashed', { count: names.length }));
    }
}

/** A chat was renamed: whatever names it follows. SillyTavern itself follows in its card or group alone. */
async function onRenamed() {
    const chat = st.openChat();
    try {
        const count = chat ? await editOnDisk(chat, () => follow({ chat: chat.address })) : 0;
        if (count) {
            notice('success', t('renamed', { count }));
        }
    } catch (error) {
        report(error);
    }
}

/** @param {unknown} error */
function report(error) {
    if (error instanceof api.Problem) {
        showProblem(error, 'Forklore');
    } else if (!(error instanceof api.Away)) {
        console.error('[Forklore]', error);
    }
}
