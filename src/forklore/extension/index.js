/** Forklore inside SillyTavern: its buttons make isolated forks. No rule is in here; the service has them all. */
import * as api from './api.js';
import { startCatching } from './catching.js';
import { startCommands } from './commands.js';
import { makeFork } from './creating.js';
import { withdrawOffers } from './dialogs.js';
import { startFollowing } from './following.js';
import { startOpening } from './opening.js';
import { startPanel } from './panel.js';
import { startShowing } from './showing.js';
import * as st from './sillytavern.js';
import { loaded } from './wording.js';

/**
 * The fork that a click asks for, null when it asks for none.
 * @param {MouseEvent} event
 * @returns {import('./creating.js').Wanted | null}
 */
function wantedBy(event) {
    const target = event.target instanceof Element ? event.target : null;
    const at = Number(target?.closest('#chat .mes')?.getAttribute('mesid') ?? Number.NaN);
    if (target?.closest('#option_new_bookmark')) {
        return { kind: 'checkpoint', at: st.context().chat.length - 1 };
    }
    if (Number.isNaN(at)) {
        return null;
    }
    if (target?.closest('.mes_create_bookmark') || (event.shiftKey && target?.closest('.mes_bookmark'))) {
        return { kind: 'checkpoint', at };
    }
    return target?.closest('.mes_create_branch') ? { kind: 'branch', at } : null;
}

/** Before everybody else: the window comes first in the capture phase, whoever was loaded first. @param {MouseEvent} event */
function onClick(event) {
    const wanted = wantedBy(event);
    if (wanted) {
        event.stopImmediatePropagation();
        event.preventDefault();
        document.getElementById('options')?.style.setProperty('display', 'none');
        void loaded.then(() => makeFork(wanted));
    }
}

/** The swipe picker closes itself with the chosen swipe and then branches; we branch instead. @param {MouseEvent} event */
function onSwipePicked(event) {
    const button = event.target instanceof Element ? event.target.closest('.swipe_picker_branch') : null;
    const block = button?.closest('.swipe_picker_block');
    const dialog = button?.closest('dialog');
    const at = Number(/swipe_picker_id_(\d+)/.exec(dialog?.innerHTML ?? '')?.[1] ?? Number.NaN);
    const swipe = Number(block?.getAttribute('data-swipe-id') ?? Number.NaN);
    if (!dialog || Number.isNaN(at) || Number.isNaN(swipe)) {
        return; // what we do not know is caught when it is saved
    }
    event.stopImmediatePropagation();
    event.preventDefault();
    dialog.querySelector('.popup-button-close')?.dispatchEvent(new MouseEvent('click', { bubbles: true }));
    void loaded.then(() => makeFork({ kind: 'branch', at, swipe }));
}

let open = '';

function onChatChanged() {
    const now = st.openChat()?.address ?? '';
    if (now !== open) {
        withdrawOffers();
    }
    open = now;
    st.noteOnDisk();
}

/** Forks are caught from the first moment on; what is shown waits for the texts. */
async function start() {
    window.addEventListener('click', onClick, true);
    window.addEventListener('click', onSwipePicked, true);
    startCatching();
    st.eventSource.on(st.eventTypes.CHAT_CHANGED, onChatChanged);
    onChatChanged();
    await loaded;
    startPanel();
    startCommands();
    startOpening();
    startShowing();
    startFollowing();
    api.connect();
}

jQuery(() => void start());
