/** Letting the service edit the file of the chat that is open: nothing that the page has in memory may be lost by it. */
import * as api from './api.js';
import { curtain, withdrawOffers } from './dialogs.js';
import * as st from './sillytavern.js';
import { t } from './wording.js';

/**
 * Save the open chat, act, and read it anew. Nothing can be typed or sent meanwhile.
 * @template T
 * @param {st.OpenChat} chat
 * @param {() => Promise<T>} act returns something false when it has changed nothing
 * @returns {Promise<T>} throws a `Problem` when it cannot be done now
 */
export async function editOnDisk(chat, act) {
    refuseWhileGenerating();
    withdrawOffers();
    const open = curtain(t('busy'));
    let isChanged = false;
    try {
        if (!(await st.saveChat()) || !st.isStillOpen(chat)) {
            throw new api.Problem({ code: 'NOT_SAVED', detail: t('not_saved') });
        }
        refuseWhileGenerating();
        isChanged = true; // or maybe: of an answer that does not arrive nobody knows
        const done = await act();
        isChanged = Boolean(done);
        return done;
    } finally {
        if (isChanged) {
            await readAnew(chat);
        }
        open();
    }
}

/**
 * Take a fork back. What points to it is edited by the page if the parent is open, else by the service.
 * @param {string} operation
 * @param {{name: string, groupId: string | null}} fork
 * @param {boolean} isParentOpen
 */
export async function takeBack(operation, { name, groupId }, isParentOpen) {
    const undone = await api.change('undo', { operation, leave_parent: isParentOpen });
    await st.makeEdits(undone.left);
    await st.unlist(name, groupId); // whoever has edited the file, the page has the group in memory
    return undone;
}

/** A message that is being written would be lost when the chat is read anew, or another one opened. */
export function refuseWhileGenerating() {
    if (st.isGenerating()) {
        throw new api.Problem({ code: 'GENERATING', detail: t('generating') });
    }
}

/** Read the open chat and its lorebook anew. @param {st.OpenChat} chat */
export async function readAnew(chat) {
    await st.refreshBooks(st.context().chatMetadata.world_info);
    if (st.isStillOpen(chat)) {
        await st.reloadChat();
        await st.refreshBooks(st.context().chatMetadata.world_info);
    }
}
