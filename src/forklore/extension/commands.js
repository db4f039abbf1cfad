/** Slash commands: SillyTavern's own two make our forks, and three of ours. */
import * as api from './api.js';
import { makeFork } from './creating.js';
import { choose, element, heading, notice, showProblem } from './dialogs.js';
import { editOnDisk, refuseWhileGenerating, takeBack } from './editing.js';
import { onChatChanged } from './opening.js';
import * as st from './sillytavern.js';
import { lineOf, named, t, worded } from './wording.js';

export function startCommands() {
    takeOver();
    // Older versions register their commands only after the extensions have started.
    st.eventSource.on(st.eventTypes.APP_READY, takeOver);
    st.eventSource.on(st.eventTypes.CHAT_CHANGED, takeOver);
    add('recap-checkpoint-status', t('help_status'), status);
    add('forklore-check', t('help_check'), check);
    add('forklore-undo', t('help_undo'), undo);
}

function takeOver() {
    const { SlashCommandParser } = st.context();
    take(SlashCommandParser.commands['branch-create'], (args, text) =>
        makeFork({ kind: 'branch', at: messageNumber(args.mesId ?? args.mesid ?? text) }),
    );
    take(SlashCommandParser.commands['checkpoint-create'], (args, text) =>
        makeFork({ kind: 'checkpoint', at: messageNumber(args.mesId ?? args.mesid), name: typeof text === 'string' ? text : '' }),
    );
}

/** The commands that are ours by now. @type {WeakSet<object>} */
const taken = new WeakSet();

/**
 * Let a command of SillyTavern do ours; its help and arguments stay.
 * @param {any} command
 * @param {(args: any, text: any) => Promise<string | null>} act
 */
function take(command, act) {
    if (command && !taken.has(command)) {
        taken.add(command);
        command.callback = async (/** @type {any} */ args, /** @type {any} */ text) => (await act(args, text)) ?? '';
    }
}

/** @param {any} given */
function messageNumber(given) {
    const last = st.context().chat.length - 1;
    return given === undefined || given === null || given === '' ? last : Number(given);
}

/** @param {string} name @param {string} helpString @param {(text: any) => Promise<string>} act */
function add(name, helpString, act) {
    const { SlashCommandParser, SlashCommand } = st.context();
    SlashCommandParser.addCommandObject(
        SlashCommand.fromProps({
            name,
            helpString,
            returns: 'JSON',
            callback: async (/** @type {any} */ _args, /** @type {any} */ text) => {
                try {
                    return await act(text);
                } catch (error) {
                    if (error instanceof api.Problem) {
                        showProblem(error, `/${name}`);
                    } else {
                        notice('warning', api.whyNot(api.connection().state));
                    }
                    return '';
                }
            },
        }),
    );
}

function chatOrStop() {
    const chat = st.openChat();
    if (!chat) {
        throw new api.Problem({ code: 'NO_CHAT', detail: t('no_chat') });
    }
    return chat;
}

async function status() {
    const chat = chatOrStop().address;
    const [answer, verified] = await Promise.all([api.look('status', { chat }), api.look('verify', { chat })]);
    console.log('=== CHECKPOINT STATUS ===', answer);
    const lines = verified.findings.map((/** @type {any} */ finding) => lineOf(finding));
    if (!answer.is_checkpoint) {
        notice('info', t('not_a_fork'));
    } else if (!verified.ok) {
        notice('warning', [t('not_valid'), ...lines].join('\n'));
    } else if (lines.length) {
        notice('success', [t('valid_with_warnings', { count: lines.length }), ...lines].join('\n'));
    } else {
        notice('success', t('valid'));
    }
    return JSON.stringify(answer);
}

/** @param {any} text */
async function check(text) {
    const at = messageNumber(text);
    await st.saveChat();
    const report = await api.look('check', { chat: chatOrStop().address, at });
    if (report.valid) {
        notice('success', t('check_ready', { at }));
    } else {
        const reasons = report.errors.map((/** @type {any} */ each) => lineOf(each));
        notice('warning', [t('check_blocked', { at }), ...reasons].join('\n'));
    }
    return JSON.stringify(report);
}

async function undo() {
    const { operations, next_undo: next } = await api.look('log');
    const latest = operations.find((/** @type {any} */ each) => each.id === next);
    if (!latest) {
        notice('info', t('nothing_to_undo'));
        return '';
    }
    const what = `${named(`operation.${latest.kind}`, latest.kind)}: ${latest.chat}`;
    const content = element('div', 'forklore-dialog', heading(t('undo_title')), element('p', '', t('undo_question')));
    content.append(element('p', '', what));
    if (!(await choose(content, [{ label: t('undo_title'), value: true }]))) {
        return '';
    }
    const isFork = latest.kind === 'checkpoint' || latest.kind === 'branch';
    const undone = await (isFork
        ? undoFork(latest)
        : editOnDisk(chatOrStop(), () => api.change('undo', { operation: latest.id })));
    notice(undone.pending.length ? 'warning' : 'success', [t('undone', { what }), ...undone.pending.map(worded)].join('\n'));
    onChatChanged();
    return JSON.stringify(undone);
}

/** @param {{id: string, chat: string}} latest */
async function undoFork({ id, chat: fork }) {
    refuseWhileGenerating();
    const shown = await api.look('show', { chat: fork }).catch(api.ifNotThere);
    const [folder, name] = [fork.slice(0, fork.indexOf('/')), fork.slice(fork.indexOf('/') + 1)];
    const groupId = folder.startsWith('group:') ? folder.slice('group:'.length) : null;
    if (chatOrStop().address === fork) {
        await openParent(shown?.parent ?? '', groupId);
    }
    const chat = chatOrStop();
    return editOnDisk(chat, () => takeBack(id, { name, groupId }, chat.address === shown?.parent));
}

/** A fork cannot be taken away while it is open: SillyTavern would write it again. @param {string} parent @param {string | null} groupId */
async function openParent(parent, groupId) {
    const name = parent.slice(parent.indexOf('/') + 1);
    if (!parent || !(await st.chatNames()).includes(name)) {
        throw new api.Problem({ code: 'PARENT_MISSING', detail: t('parent_gone', { name }), action: t('open_another') });
    }
    await st.openByName(name, groupId);
}
