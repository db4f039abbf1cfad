/** Making a fork: the page saves, the service makes the new files, the page points to them. */
import * as api from './api.js';
import { askText, element, heading, notice, showBlocked, showProblem, Steps } from './dialogs.js';
import { settings } from './settings.js';
import * as st from './sillytavern.js';
import { ofKind, t } from './strings.js';

/** @typedef {import('./strings.js').Kind} Kind */

/**
 * @typedef {object} Wanted
 * @property {Kind} kind
 * @property {number} at
 * @property {string | null} [name] null to ask for it, empty for the suggested one
 * @property {number | null} [swipe]
 */

const TRIES = 3;
const FORK_MS = 600_000;

let busy = false;
let native = false;

/** Whether a fork is being made by us: what happens in the page meanwhile is our own doing. */
export const isMaking = () => busy;

/** Whether SillyTavern is making one for us, since the service is away: the user has been warned. */
export const isMakingNatively = () => native;

/**
 * Make a fork of the open chat, with everything a person sees of it.
 * @param {Wanted} wanted
 * @returns {Promise<string | null>} the name of the fork, null when none was made
 */
export async function makeFork(wanted) {
    if (busy) {
        notice('info', t('in_progress'), ofKind('title', wanted.kind));
        return null;
    }
    busy = true;
    /** @type {unknown} */
    let failure;
    try {
        return await make(wanted);
    } catch (error) {
        failure = error;
    } finally {
        busy = false;
    }
    if (failure instanceof api.Away) {
        return withoutService(wanted, failure.state);
    }
    tellFailure(failure, wanted);
    return null;
}

/** @param {unknown} error @param {Wanted} wanted */
function tellFailure(error, wanted) {
    const title = ofKind('title', wanted.kind);
    if (error instanceof Stopped) {
        if (error.message) {
            notice('warning', error.message, title);
        }
    } else if (error instanceof api.Problem) {
        showProblem(error, title);
    } else {
        console.error('[Forklore]', error);
        notice('error', String(error), title);
    }
}

/** Nothing is made, and it was said why. */
class Stopped extends Error {}

/**
 * What becomes of a fork while nobody can isolate it.
 * @param {Wanted} wanted
 * @param {api.State} state
 * @returns {Promise<string | null>}
 */
async function withoutService({ kind, at, name, swipe }, state) {
    api.connect();
    if (settings().whenAway !== 'allow') {
        notice('error', state === 'unpaired' ? t('unpaired_said') : t('away_refused'), ofKind('title', kind));
        return null;
    }
    notice('warning', t('away_allowed'), ofKind('title', kind));
    native = true;
    try {
        return await (kind === 'checkpoint' ? st.native.checkpoint(at, name) : st.native.branch(at, swipe));
    } finally {
        native = false;
    }
}

/** @param {Wanted} wanted @returns {Promise<string | null>} */
async function make(wanted) {
    const { kind, at } = wanted;
    const chat = st.openChat();
    const message = st.context().chat[at];
    if (!chat) {
        throw new Stopped(t('no_chat'));
    }
    if (!message) {
        throw new Stopped(t('empty_chat'));
    }
    if (st.isGenerating()) {
        throw new Stopped(t('generating'));
    }
    await refuseIfChangedElsewhere(chat);
    await save();
    const report = await api.look('check', { chat: chat.address, at });
    if (!report.valid) {
        if ((await showBlocked(kind, report)) === 'wait') {
            void createWhenReady(wanted, chat, message);
        }
        return null;
    }
    const name = kind === 'checkpoint' ? await chosenName(wanted, chat, message) : null;
    const steps = new Steps(kind);
    try {
        return await carryOut({ ...wanted, name }, chat, message, steps);
    } finally {
        steps.close();
    }
}

async function save() {
    if (!(await st.saveChat())) {
        throw new Stopped(t('not_saved'));
    }
}

/**
 * Saving writes the whole chat from memory; what another tab has written since we read it would be lost.
 * @param {st.OpenChat} chat
 */
async function refuseIfChangedElsewhere(chat) {
    const { onDisk } = st;
    if (onDisk.address !== chat.address || onDisk.messages === 0) {
        return;
    }
    const there = await api
        .look('messages', { chat: chat.address, start: onDisk.messages - 1, count: 1 })
        .catch((error) => (error instanceof api.Problem ? null : Promise.reject(error)));
    const last = there?.messages[0];
    const same = there?.total === onDisk.messages && (!last?.sent || String(last.sent) === onDisk.last);
    if (!there || same) {
        return;
    }
    notice('error', `${t('changed_elsewhere')}\n${t('reload')}`, 'Forklore', {
        onclick: () => void st.reloadChat(),
        timeOut: 20_000,
    });
    throw new Stopped('');
}

/**
 * @param {Wanted} wanted
 * @param {st.OpenChat} chat
 * @param {any} message
 * @returns {Promise<string>}
 */
async function chosenName({ at, name }, chat, message) {
    if (typeof name === 'string') {
        return name;
    }
    const preview = await api.look('preview', { kind: 'checkpoint', chat: chat.address, at });
    const suggested = String(preview.chat).slice(String(preview.chat).indexOf('/') + 1);
    const content = element('div', 'forklore-dialog', heading(t('title_checkpoint')), element('p', '', t('name_question')));
    if (message.extra?.bookmark_link) {
        content.append(element('p', 'forklore-details', t('replaces')));
    }
    const given = await askText(content, suggested);
    if (given === null) {
        throw new Stopped('');
    }
    return given.trim() === suggested ? '' : given.trim();
}

/**
 * @param {Wanted} wanted
 * @param {st.OpenChat} chat
 * @param {any} message
 * @param {Steps} steps
 * @returns {Promise<string | null>}
 */
async function carryOut({ kind, at, name, swipe }, chat, message, steps) {
    const body = { chat: chat.address, at, leave_parent: true, ...(kind === 'checkpoint' ? { name } : { swipe }) };
    const made = await madeByService(kind, body, steps);
    const fork = made.chat.slice(made.chat.indexOf('/') + 1);
    const number = st.context().chat.indexOf(message);
    if (!st.isStillOpen(chat) || number < 0) {
        return takeBack(made, fork, kind);
    }
    await st.refreshBooks(made.lorebook);
    const saved = await st.pointTo({ kind, name: fork, lorebook: made.lorebook, groupId: chat.groupId }, message);
    if (!saved) {
        notice('warning', t('link_pending'), ofKind('title', kind));
    }
    await st.passOn(chat.name, fork);
    if (kind === 'branch' && st.isStillOpen(chat)) {
        await st.openByName(fork, chat.groupId);
    }
    if (kind === 'checkpoint' || settings().notices !== 'all') {
        notice('success', ofKind('made', kind, { name: fork }), ofKind('title', kind));
    } // else the branch tells by itself that it is open
    tellWarnings(made.warnings, kind);
    return fork;
}

/**
 * @param {Kind} kind
 * @param {any} body
 * @param {Steps} steps
 * @returns {Promise<any>}
 */
async function madeByService(kind, body, steps) {
    for (let attempt = 1; ; attempt += 1) {
        const job = crypto.randomUUID?.() ?? `job-${Date.now()}-${attempt}`;
        const stop = api.on('progress', (progress) => progress.job === job && steps.tell(progress));
        steps.cancel = () => void api.ask('DELETE', `jobs/${job}`).catch(() => {});
        try {
            return await api.change(kind, body, { job, timeout: FORK_MS });
        } catch (error) {
            // SillyTavern saved in between: what it wrote has to be in the fork.
            if (error instanceof api.Problem && error.code === 'CANCELLED') {
                throw new Stopped(t('cancelled'));
            }
            if (!(error instanceof api.Problem) || error.code !== 'CONTEXT_CHANGED' || attempt >= TRIES) {
                throw error;
            }
            await save();
        } finally {
            stop();
            steps.cancel = () => {};
        }
    }
}

/**
 * @param {any} made
 * @param {string} fork
 * @param {Kind} kind
 * @returns {Promise<null>}
 */
async function takeBack(made, fork, kind) {
    try {
        await api.change('undo', { operation: made.operation, leave_parent: true });
        notice('warning', `${t('context_changed')} (CONTEXT_CHANGED)`, ofKind('title', kind));
    } catch (error) {
        console.error('[Forklore]', error);
        notice('warning', `${t('context_changed_kept', { name: fork })} (CONTEXT_CHANGED)`, ofKind('title', kind));
    }
    return null;
}

/** @param {import('./api.js').Finding[]} warnings @param {Kind} kind */
function tellWarnings(warnings, kind) {
    // Of a hidden history an open fork tells by itself, with what can be done.
    const news = warnings.filter(({ code }) => kind === 'checkpoint' || code !== 'HISTORY_HIDDEN');
    if (news.length && settings().notices !== 'none') {
        const lines = news.map((finding) => `${finding.message} (${finding.code})`);
        notice('warning', [t('with_warnings', { count: lines.length }), ...lines].join('\n'), ofKind('title', kind));
    }
}

// --- when ready --------------------------------------------------------------------------------------------------

const LOOK_EVERY_MS = 1_000;

/**
 * Watch the queue, and make the fork when it is idle. The user can go on reading, and cancel it.
 * @param {Wanted} wanted
 * @param {st.OpenChat} chat
 * @param {any} message
 */
async function createWhenReady(wanted, chat, message) {
    const list = element('div', 'forklore-details');
    const cancel = element('div', 'menu_button', t('cancel'));
    const box = element('div', 'forklore-waiting', element('strong', '', t('waiting')), list, cancel);
    let wanting = true;
    cancel.addEventListener('click', () => {
        wanting = false;
    });
    document.body.append(box);
    try {
        while (wanting) {
            if (!st.isStillOpen(chat)) {
                notice('info', t('waiting_stopped'), ofKind('title', wanted.kind));
                return;
            }
            const queue = await api.look('queue', { chat: chat.address });
            if (queue.idle && !st.isGenerating()) {
                break;
            }
            showQueue(list, queue.operations);
            await soon(() => !wanting);
        }
    } catch (error) {
        tellFailure(error instanceof api.Away ? new Stopped(t('away_said')) : error, wanted);
        return;
    } finally {
        box.remove();
    }
    const at = st.context().chat.indexOf(message);
    if (wanting && at >= 0) {
        await makeFork({ ...wanted, at, name: wanted.name ?? '' });
    }
}

/** @param {HTMLElement} list @param {any[]} operations */
function showQueue(list, operations) {
    const waiting = operations.filter((each) => !['completed', 'failed', 'cancelled'].includes(each.status));
    const lines = waiting.slice(0, 8).map((each) => element('div', '', `${each.type}: ${each.status}`));
    list.replaceChildren(t('waiting_for', { count: waiting.length }), ...lines);
}

/** Wait a moment, or less when the service tells that files have changed. @param {() => boolean} enough */
async function soon(enough) {
    let changed = false;
    const stop = api.on('changed', () => {
        changed = true;
    });
    await st.until(() => changed || enough(), LOOK_EVERY_MS);
    stop();
}
