/** Where a fork can be made: green and dimmed buttons on each message. */
import * as api from './api.js';
import * as st from './sillytavern.js';
import { t } from './wording.js';

const QUIET_MS = 700;
const AT_ONCE = 150;
const BUTTONS = /** @type {const} */ ([
    ['checkpoint', '.mes_create_bookmark'],
    ['branch', '.mes_create_branch'],
]);

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

export function startShowing() {
    const events = st.eventTypes;
    for (const event of [
        events.CHAT_CHANGED,
        events.CHARACTER_MESSAGE_RENDERED,
        events.USER_MESSAGE_RENDERED,
        events.MESSAGE_DELETED,
        events.MESSAGE_UPDATED,
        events.MESSAGE_SWIPED,
        events.MORE_MESSAGES_LOADED,
        events.GENERATION_ENDED,
        events.WORLDINFO_UPDATED,
    ]) {
        if (event) {
            st.eventSource.on(event, () => refreshSoon());
        }
    }
    api.on('state', () => refreshSoon());
    api.on('changed', ({ chats, books, everything }) => {
        const chat = st.openChat();
        const book = st.context().chatMetadata?.world_info;
        if (everything || chats?.includes(chat?.address) || books?.includes(book)) {
            refreshSoon();
        }
    });
}

/** Look again in a moment; while a message is being written nothing is asked. */
export function refreshSoon() {
    clearTimeout(timer);
    timer = setTimeout(() => (st.isGenerating() ? refreshSoon() : void refresh()), QUIET_MS);
}

async function refresh() {
    const chat = st.openChat();
    const shown = [...document.querySelectorAll('#chat .mes[mesid]')].slice(-AT_ONCE);
    if (!chat || !shown.length || api.connection().state !== 'connected') {
        shown.forEach((message) => show(message, null));
        return;
    }
    const at = shown.map((message) => Number(message.getAttribute('mesid')));
    const answer = await api.look('where', { chat: chat.address, at }).catch(() => null);
    if (!answer || !st.isStillOpen(chat)) {
        return;
    }
    const known = new Map((answer.messages ?? [answer]).map((/** @type {any} */ each) => [each.number ?? each.at, each]));
    shown.forEach((message) => show(message, known.get(Number(message.getAttribute('mesid'))) ?? null));
}

/**
 * @param {Element} message
 * @param {{ready: boolean, codes: string[]} | null} place null when nothing is known
 */
function show(message, place) {
    const unknown = place === null || place.codes.includes('MESSAGE_NOT_FOUND');
    for (const [kind, selector] of BUTTONS) {
        for (const button of /** @type {NodeListOf<HTMLElement>} */ (message.querySelectorAll(selector))) {
            button.dataset.forkloreTitle ??= button.title;
            button.classList.toggle('forklore-ready', !unknown && place.ready);
            button.classList.toggle('forklore-blocked', !unknown && !place.ready);
            const about = () => (place?.ready ? t('ready', { kind }) : t('blocked', { kind, codes: place?.codes }));
            button.title = unknown ? button.dataset.forkloreTitle : about();
        }
    }
}
