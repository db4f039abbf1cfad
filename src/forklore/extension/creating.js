/** Making a fork: the page saves, the service makes the new files, the page points to them. */
import * as api from './api.js';
import { askText, element, heading, notice, showBlocked, Steps, whileWaiting } from './dialogs.js';
import * as editing from './editing.js';
import { log } from './log.js';
import { settings } from './settings.js';
import * as st from './sillytavern.js';
import { because, lineOf, named, recapLines, t, toldOf, toldOfProblem } from './wording.js';

/** @typedef {import('./wording.js').Finding} Finding */
/** @typedef {import('./wording.js').Kind} Kind */
/** @typedef {{errors: Finding[], warnings: Finding[]}} Report */

/**
 * @typedef {object} Wanted
 * @property {Kind} kind
 * @property {number} at
 * @property {string | null} [name] null to ask for it, empty for the suggested one
 * @property {number | null} [swipe]
 */

const TRIES = 3;
const FORK_MS = 600_000;
const ASK_AGAIN_MS = 5_000;

/** What is being made. @type {Kind | null} */
let busy = null;
let native = false;
/** The fork that the page is about to point to. */
let making = '';

/** Whether this is the fork we are making: what the page does with it is our own doing. @param {string} name */
export const isMaking = (name) => name === making;

/** Whether SillyTavern is making one for us, since the service is away: the user has been warned. */
export const isMakingNatively = () => native;

/**
 * Make a fork of the open chat, with everything a person sees of it.
 * @param {Wanted} wanted
 * @returns {Promise<string | null>} the name of the fork, null when none was made
 */
export async function makeFork(wanted) {
    if (busy) {
        notice('warning', t('in_progress', { kind: busy }), t('title', { kind: busy }));
        return null;
    }
    busy = wanted.kind;
    const place = { chat: st.openChat(), message: st.context().chat[wanted.at] };
    try {
        return await make(wanted, place.chat, place.message);
    } catch (error) {
        if (error instanceof api.Away) {
            return await withoutService(wanted, place, error.state);
        }
        tellFailure(error, wanted.kind);
        return null;
    } finally {
        busy = null;
        making = '';
    }
}

/** What speaks for itself. */
const PLAIN = ['CREATION_IN_PROGRESS'];

/** @param {unknown} error @param {Kind} kind */
function tellFailure(error, kind) {
    const title = t('title', { kind });
    if (error instanceof Stopped) {
        if (error.message) {
            notice('warning', error.message, title);
        }
    } else if (error instanceof api.Problem && PLAIN.includes(error.code)) {
        notice('warning', `${toldOfProblem(error).message} (${error.code})`, title);
    } else if (error instanceof api.Problem && error.code === 'CONTEXT_CHANGED') {
        notice('warning', `${t('context_changed', { kind })} (${error.code})`, title);
    } else if (error instanceof api.Problem) {
        notice('error', `${because('failed', api.problemText(error), { kind })}\n${error.code}`, title);
    } else {
        console.error('[Forklore]', error);
        notice('error', because('failed', error instanceof Error ? error.message : String(error), { kind }), title);
    }
}

/** Nothing is made; the message says why. */
class Stopped extends Error {}

/** It cannot be made now. */
class Refused extends Stopped {
    /** @param {Kind} kind @param {string} reason */
    constructor(kind, reason) {
        super(because('refused', reason, { kind }));
    }
}

/** The service was asked for a fork and its answer did not arrive: it may have made it. */
class Lost extends Error {
    /** @param {string} job */
    constructor(job) {
        super(job);
        this.job = job;
    }
}

/**
 * Where the message is now; the chat may have been switched, or messages before it deleted.
 * @param {Kind} kind
 * @param {st.OpenChat | null} chat
 * @param {any} message
 * @returns {number}
 */
function placeOf(kind, chat, message) {
    const at = st.context().chat.indexOf(message);
    if (!st.isStillOpen(chat) || at < 0) {
        throw new Stopped(`${t('context_changed', { kind })} (CONTEXT_CHANGED)`);
    }
    return at;
}

/**
 * What becomes of a fork while nobody can isolate it. The service was not asked to make it.
 * @param {Wanted} wanted
 * @param {{chat: st.OpenChat | null, message: any}} place
 * @param {api.State} state
 * @returns {Promise<string | null>}
 */
async function withoutService({ kind, name, swipe }, place, state) {
    api.connect();
    if (settings().whenAway !== 'allow') {
        notice('error', because('refused', api.whyNot(state, t('away_reason')), { kind }), t('title', { kind }));
        return null;
    }
    native = true;
    try {
        const at = placeOf(kind, place.chat, place.message);
        notice('warning', t('away_allowed', { kind }), t('title', { kind }));
        return await (kind === 'checkpoint' ? st.native.checkpoint(at, name) : st.native.branch(at, swipe));
    } catch (error) {
        tellFailure(error, kind);
        return null;
    } finally {
        native = false;
    }
}

/**
 * @param {Wanted} wanted
 * @param {st.OpenChat | null} chat
 * @param {any} message
 * @returns {Promise<string | null>}
 */
async function make(wanted, chat, message) {
    const { kind, at } = wanted;
    if (!chat) {
        throw new Refused(kind, t('no_chat'));
    }
    if (!message) {
        throw new Refused(kind, t('empty_chat'));
    }
    if (st.isGenerating()) {
        throw new Refused(kind, t('generating'));
    }
    const report = await whileWaiting(async () => {
        await refuseIfChangedElsewhere(chat);
        await save(kind);
        return api.look('check', { chat: chat.address, at, kind });
    });
    if (!report.valid) {
        return tellBlocked(wanted, chat, message, report);
    }
    const name = kind === 'checkpoint' ? await chosenName(wanted, chat, message) : null;
    const steps = new Steps(kind);
    try {
        return await carryOut({ ...wanted, name }, chat, message, steps);
    } catch (error) {
        const blocked = error instanceof api.Problem ? reportIn(error.findings) : null;
        if (!blocked) {
            throw error;
        }
        steps.close();
        return tellBlocked(wanted, chat, message, blocked);
    } finally {
        steps.close();
    }
}

/** What stands in the way of a fork, as a refusal tells it. @param {Finding[]} findings @returns {Report | null} */
function reportIn(findings) {
    const errors = findings.filter(({ severity }) => severity === 'error');
    return errors.length ? { errors, warnings: findings.filter(({ severity }) => severity === 'warning') } : null;
}

/**
 * Say what stands in the way of a fork; it may be waited for.
 * @param {Wanted} wanted
 * @param {st.OpenChat} chat
 * @param {any} message
 * @param {Report} report
 * @returns {Promise<null>}
 */
async function tellBlocked(wanted, chat, message, report) {
    const { kind } = wanted;
    if ((await showBlocked(kind, report)) === 'wait') {
        void createWhenReady(wanted, chat, message);
        return null;
    }
    const [first, ...others] = report.errors;
    const text =
        first && !others.length
            ? because('refused', toldOf(first).message, { kind })
            : t('unmet', { kind, count: report.errors.length });
    notice('warning', text, t('title', { kind }));
    return null;
}

/** @param {Kind} kind */
async function save(kind) {
    if (!(await st.saveChat())) {
        throw new Refused(kind, t('not_saved'));
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
        .catch((error) => (error instanceof api.Problem && error.code !== 'TIMEOUT' ? null : Promise.reject(error)));
    const last = there?.messages[0];
    const same = there?.total === onDisk.messages && (!last?.sent || String(last.sent) === onDisk.last);
    if (!there || same || (await isOfOlderFormat(chat))) {
        return;
    }
    notice('error', `${t('changed_elsewhere')}\n${t('reload')}`, 'Forklore', {
        onclick: () => void st.reloadChat(),
        timeOut: 20_000,
    });
    throw new Stopped('');
}

/** Whether messages cannot be counted, since the chat has no header: what it is then, the check tells. @param {st.OpenChat} chat */
async function isOfOlderFormat(chat) {
    const { errors } = await api.look('check', { chat: chat.address });
    return errors.some((/** @type {any} */ { code }) => code === 'GROUP_FORMAT_OLD');
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
    const content = element('div', 'forklore-dialog', heading(t('title', { kind: 'checkpoint' })), element('p', '', t('name_question')));
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
async function carryOut({ kind, name, swipe }, chat, message, steps) {
    const more = kind === 'checkpoint' ? { name } : { swipe };
    const bodyNow = () => ({ chat: chat.address, at: placeOf(kind, chat, message), leave_parent: true, ...more });
    /** @type {any} */
    let made;
    try {
        made = await madeByService(kind, bodyNow, steps);
    } catch (error) {
        if (!(error instanceof Lost)) {
            throw error;
        }
        notice('warning', t('lost', { kind }), t('title', { kind }));
        void settle(kind, chat, message, error.job);
        return null;
    }
    log('Made:', made.chat, made.lorebook, made.operation);
    const fork = await pointTo(made, kind, chat, message);
    if (fork === null) {
        return null;
    }
    if (kind === 'branch' && st.isStillOpen(chat)) {
        await st.openByName(fork, chat.groupId);
    }
    await tellMade(fork, made.chat, kind);
    tellWarnings(made.warnings, kind);
    return fork;
}

/** @param {string} name @param {string} address @param {Kind} kind */
async function tellMade(name, address, kind) {
    const lines = [t('made', { kind, name })];
    if (kind === 'checkpoint' || settings().notices !== 'all') {
        const status = await api.look('status', { chat: address }).catch(() => null);
        lines.push(...recapLines(status?.checkpoint_state));
    } // else the branch tells the rest when it opens
    if (kind === 'checkpoint') {
        lines.push(t('made_hint'));
    }
    notice('success', lines.join('\n'), t('title', { kind }));
}

/**
 * Let the parent, which is open, point to a fork that was made; a fork that it cannot point to is taken back.
 * @param {{chat: string, parent: string, at: number, lorebook: string | null, operation: string, left: any[], settings?: any[]}} made
 * @param {Kind} kind
 * @param {st.OpenChat} chat
 * @param {any} message
 * @returns {Promise<string | null>} the name of the fork, null when it was taken back
 */
async function pointTo(made, kind, chat, message) {
    const fork = made.chat.slice(made.chat.indexOf('/') + 1);
    making = fork;
    await st.refreshBooks(made.lorebook);
    // Nothing may be waited for between this look and what is written into the open chat.
    if (!st.isStillOpen(chat) || st.context().chat.indexOf(message) !== made.at) {
        return takeBack(made, fork, kind, chat);
    }
    const saved = await st.makeEdits(made.left, made.parent);
    if (!st.isStillOpen(chat)) {
        return saved ? fork : takeBack(made, fork, kind, chat);
    }
    if (!saved) {
        notice('warning', t('link_pending', { kind }), t('title', { kind }));
    }
    st.copySettings(made.settings ?? []);
    await st.passOn(fork);
    return fork;
}

/**
 * @param {Kind} kind
 * @param {() => any} bodyNow
 * @param {Steps} steps
 * @returns {Promise<any>}
 */
async function madeByService(kind, bodyNow, steps) {
    for (let attempt = 1; ; attempt += 1) {
        const job = api.newJob();
        const stop = api.on('progress', (progress) => progress.job === job && steps.tell(progress));
        steps.cancel = () => void api.ask('DELETE', `jobs/${job}`).catch(() => {});
        try {
            return await api.change(kind, bodyNow(), { job, timeout: FORK_MS });
        } catch (error) {
            const isTooLate = error instanceof api.Problem && error.code === 'TIMEOUT';
            if (isTooLate || (error instanceof api.Away && error.state === 'away')) {
                throw new Lost(job);
            }
            if (error instanceof api.Problem && error.code === 'CANCELLED') {
                throw new Stopped(t('cancelled'));
            }
            // SillyTavern saved in between: what it wrote has to be in the fork.
            if (!(error instanceof api.Problem) || error.code !== 'CONTEXT_CHANGED' || attempt >= TRIES) {
                throw error;
            }
            await save(kind);
        } finally {
            stop();
            steps.cancel = () => {};
        }
    }
}

/**
 * @param {{operation: string}} made
 * @param {string} fork
 * @param {Kind} kind
 * @param {st.OpenChat} chat
 * @returns {Promise<null>}
 */
async function takeBack(made, fork, kind, chat) {
    try {
        await editing.takeBack(made.operation, { name: fork, groupId: chat.groupId }, st.isStillOpen(chat));
        notice('warning', `${t('context_changed', { kind })} (CONTEXT_CHANGED)`, t('title', { kind }));
    } catch (error) {
        console.error('[Forklore]', error);
        notice('warning', `${t('context_changed_kept', { kind, name: fork })} (CONTEXT_CHANGED)`, t('title', { kind }));
    }
    return null;
}

/** @param {Finding[]} warnings @param {Kind} kind */
function tellWarnings(warnings, kind) {
    // Of a hidden history an open fork tells by itself, with what can be done.
    const news = warnings.filter(({ code }) => kind === 'checkpoint' || code !== 'HISTORY_HIDDEN');
    if (news.length && settings().notices !== 'none') {
        const lines = news.map((finding) => lineOf(finding));
        notice('warning', [t('with_warnings', { count: lines.length }), ...lines].join('\n'), t('title', { kind }));
    }
}

// --- lost ---------------------------------------------------------------------------------------------------------

/**
 * Stop a fork whose answer was lost, or find it when it was made: then the parent points to it, or it is taken back.
 * @param {Kind} kind
 * @param {st.OpenChat} chat
 * @param {any} message
 * @param {string} job
 */
async function settle(kind, chat, message, job) {
    for (;;) {
        try {
            const ended = (await api.ask('DELETE', `jobs/${job}`).catch(api.ifNotThere)) === null;
            if (ended) {
                await takeUp(kind, chat, message, job);
                return;
            }
        } catch (error) {
            if (!(error instanceof api.Away)) {
                tellFailure(error, kind);
                return;
            }
        }
        await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
}

/**
 * Go on with the fork that a job has made; the service knows of it also when it was started anew.
 * @param {Kind} kind
 * @param {st.OpenChat} chat
 * @param {any} message
 * @param {string} job
 */
async function takeUp(kind, chat, message, job) {
    const title = t('title', { kind });
    const { outcome, fork: made } = await api.look('made', { request: job });
    if (outcome !== 'made') {
        notice('info', t(outcome === 'gone' ? 'lost_gone' : 'lost_not_made', { kind }), title);
        return;
    }
    const fork = await pointTo(made, kind, chat, sameAs(message, made.at));
    if (fork) {
        notice('success', t('lost_found', { name: fork }), title);
    }
}

/** The message as it is now, if the chat was read anew meanwhile. @param {any} message @param {number} at */
function sameAs(message, at) {
    const there = st.context().chat[at];
    return there?.send_date === message.send_date && there?.mes === message.mes ? there : message;
}

// --- when ready --------------------------------------------------------------------------------------------------

const LOOK_EVERY_MS = 1_000;

/** What is waited for already. @type {Set<{kind: Kind, message: any}>} */
const waits = new Set();

/**
 * Watch the queue, and make the fork when it is idle. The user can go on reading, and cancel it.
 * @param {Wanted} wanted
 * @param {st.OpenChat} chat
 * @param {any} message
 */
async function createWhenReady(wanted, chat, message) {
    if ([...waits].some((each) => each.kind === wanted.kind && each.message === message)) {
        notice('info', t('waiting_already'), t('title', { kind: wanted.kind }));
        return;
    }
    const wait = { kind: wanted.kind, message };
    waits.add(wait);
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
                notice('info', t('waiting_stopped'), t('title', { kind: wanted.kind }));
                return;
            }
            const queue = await api.look('queue', { chat: chat.address });
            if (queue.idle && !st.isGenerating() && !busy) {
                break;
            }
            showQueue(list, queue.operations);
            await soon(() => !wanting);
        }
    } catch (error) {
        tellFailure(error instanceof api.Away ? new Refused(wanted.kind, api.whyNot(error.state)) : error, wanted.kind);
        return;
    } finally {
        waits.delete(wait);
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
    const lines = waiting.slice(0, 8).map(({ type, status }) =>
        element('div', '', `${named(`queue.type.${type}`, type)}: ${named(`queue.${status}`, status)}`),
    );
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
