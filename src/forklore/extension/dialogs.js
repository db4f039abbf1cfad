/** Dialogs and notices. Every text of a story goes through `textContent`: it may hold anything. */
import { problemText } from './api.js';
import { bringNoticesBack, context } from './sillytavern.js';
import { printableText } from './texts/printable.js';
import { t, toldOf, worded } from './wording.js';

const MOMENT_MS = 1_000;

/** @typedef {import('./wording.js').Finding} Finding */
/** @typedef {import('./wording.js').Fact} Fact */
/** @typedef {import('./wording.js').Kind} Kind */
/** @typedef {import('./api.js').Problem} Problem */

/**
 * @param {string} tag
 * @param {string} classes
 * @param {...(string | Node)} children texts and elements
 * @returns {HTMLElement}
 */
export function element(tag, classes = '', ...children) {
    const made = document.createElement(tag);
    made.className = classes;
    made.append(...children.map((child) => (typeof child === 'string' ? printableText(child) : child)));
    return made;
}

/** The latest notice of each text. @type {Map<string, any>} */
const noticed = new Map();
/** Notices that offer something to whoever clicks them. @type {Set<any>} */
const offers = new Set();

/**
 * Tell something; the same text is never on the screen twice.
 * @param {'info' | 'success' | 'warning' | 'error'} level
 * @param {string} text
 * @param {string} [title]
 * @param {{onclick?: () => void, timeOut?: number}} [options]
 */
export function notice(level, text, title = 'Forklore', options = {}) {
    noticed.get(text)?.remove();
    const shown = toastr[level](printableText(text), title, {
        timeOut: level === 'error' ? 12_000 : 7_000,
        ...options,
        escapeHtml: true,
        toastClass: options.onclick ? 'toast forklore-toast forklore-offer' : 'toast forklore-toast',
        onHidden: () => {
            offers.delete(shown);
            if (noticed.get(text) === shown) {
                noticed.delete(text);
            }
            toastr.options.onHidden?.();
        },
    });
    noticed.set(text, shown);
    if (options.onclick) {
        offers.add(shown);
    }
    return shown;
}

/** Take away what was offered of a chat that is no longer open, or no longer as it was. */
export function withdrawOffers() {
    offers.forEach((offer) => offer.remove());
    offers.clear();
}

/**
 * A popup with buttons; returns the value of the one that was pressed, null when it was closed.
 * @template T
 * @param {HTMLElement} content
 * @param {{label: string, value: T}[]} buttons the first one is the suggested one
 * @param {{cancel?: string, wide?: boolean}} [options]
 * @returns {Promise<T | null>}
 */
export async function choose(content, buttons, { cancel = t('cancel'), wide = false } = {}) {
    const { Popup, POPUP_TYPE } = context();
    const custom = buttons.map(({ label }, index) => ({ text: label, result: 1001 + index, classes: ['forklore-choice'] }));
    const popup = new Popup(content, POPUP_TYPE.TEXT, '', {
        okButton: false,
        cancelButton: cancel,
        customButtons: custom,
        leftAlign: true,
        allowVerticalScrolling: true,
        wide,
    });
    popup.dlg.classList.add('forklore-popup');
    popup.dlg.classList.toggle('forklore-many', buttons.length > 1);
    await popup.show();
    return buttons[Number(popup.result) - 1001]?.value ?? null;
}

/**
 * Ask for a line of text.
 * @param {HTMLElement} content
 * @param {string} suggestion
 * @returns {Promise<string | null>} null when it was closed
 */
export async function askText(content, suggestion) {
    const { Popup, POPUP_TYPE } = context();
    const popup = new Popup(content, POPUP_TYPE.INPUT, suggestion, {});
    popup.dlg.classList.add('forklore-popup');
    const value = await popup.show();
    return typeof value === 'string' ? value : null;
}

/** @param {string} text */
export const heading = (text) => element('h3', '', text);

/**
 * One finding: what it is, why it matters, what it is about, and what to do, step by step.
 * @param {Finding} finding
 * @param {'div' | 'li'} [tag]
 */
export function findingElement(finding, tag = 'div') {
    const { message, why, details, action, steps } = toldOf(finding);
    const made = element(tag, `forklore-finding forklore-${finding.severity}`, element('strong', '', message));
    made.dataset.code = finding.code;
    made.append(element('code', '', finding.code));
    made.append(...[why, details].filter(Boolean).map((text) => element('div', 'forklore-details', text)));
    if (action) {
        made.append(element('div', 'forklore-action', `→ ${action}`));
    }
    if (steps.length) {
        made.append(element('ol', 'forklore-how', ...steps.map((step) => element('li', '', step))));
    }
    return made;
}

/**
 * Say why a fork cannot be made: every reason, each with what to do.
 * @param {Kind} kind
 * @param {{errors: Finding[], warnings: Finding[]}} report
 * @returns {Promise<'wait' | null>}
 */
export async function showBlocked(kind, { errors, warnings }) {
    const listed = errors.map((finding) => findingElement(finding, 'li'));
    const content = element('div', 'forklore-dialog', heading(t('cannot', { kind })), element('p', '', t('must_be_met')));
    content.append(element('ol', 'forklore-unmet', ...listed));
    if (warnings.length) {
        content.append(element('p', '', t('besides')), ...warnings.map((finding) => findingElement(finding)));
    }
    const onlyBusy = errors.every((finding) => finding.code === 'QUEUE_NOT_EMPTY');
    /** @type {{label: string, value: 'wait'}[]} */
    const buttons = onlyBusy ? [{ label: t('create_when_ready'), value: 'wait' }] : [];
    return choose(content, buttons, { cancel: t('close') });
}

/** @param {Problem} problem @param {string} title */
export function showProblem(problem, title) {
    notice('error', `${problemText(problem)}\n${problem.code}`, title);
}

/**
 * Keep hands off the page for a moment.
 * @param {string} text
 * @returns {() => void} what lets them on again
 */
export function curtain(text) {
    const dialog = /** @type {HTMLDialogElement} */ (element('dialog', 'forklore-curtain', text));
    dialog.addEventListener('cancel', (event) => event.preventDefault());
    dialog.addEventListener('keydown', (event) => event.stopPropagation());
    document.body.append(dialog);
    dialog.showModal();
    return () => takeAway(dialog);
}

/** @param {HTMLDialogElement} dialog */
function takeAway(dialog) {
    dialog.close();
    bringNoticesBack();
    dialog.remove();
}

/**
 * Keep hands off the page if something takes longer than a moment.
 * @template T
 * @param {() => Promise<T>} act
 * @returns {Promise<T>}
 */
export async function whileWaiting(act) {
    let open = () => {};
    const timer = setTimeout(() => {
        open = curtain(t('busy'));
    }, MOMENT_MS);
    try {
        return await act();
    } finally {
        clearTimeout(timer);
        open();
    }
}

/** The four steps of a fork, in front of everything: nothing can be sent or switched meanwhile. */
export class Steps {
    /** @param {Kind} kind */
    constructor(kind) {
        this.step = 1;
        this.items = [1, 2, 3, 4].map((step) =>
            element('li', 'forklore-step', element('span', '', t('step', { step, kind }))),
        );
        /** What stops the work, while that leaves nothing behind. @type {() => void} */
        this.cancel = () => {};
        const cancel = element('div', 'menu_button', t('cancel'));
        cancel.addEventListener('click', () => this.cancel());
        this.dialog = /** @type {HTMLDialogElement} */ (
            element('dialog', 'forklore-steps', heading(t('making', { kind })), element('ol', '', ...this.items), cancel)
        );
        this.dialog.addEventListener('cancel', (event) => event.preventDefault());
        this.dialog.addEventListener('keydown', (event) => event.stopPropagation());
        document.body.append(this.dialog);
        this.dialog.showModal();
        this.reach(1);
    }

    /** @param {{step?: {number: number}, note?: Fact & {good: boolean | null}}} progress */
    tell({ step, note }) {
        if (step) {
            this.reach(step.number);
        } else if (note) {
            const mark = note.good ? '✓ ' : note.good === false ? '⚠ ' : '';
            this.items[this.step - 1]?.append(element('div', 'forklore-note', `${mark}${worded(note)}`));
        }
    }

    /** @param {number} step */
    reach(step) {
        this.step = step;
        this.items.forEach((item, index) => {
            item.classList.toggle('forklore-done', index + 1 < step);
            item.classList.toggle('forklore-now', index + 1 === step);
        });
    }

    close() {
        takeAway(this.dialog);
    }
}
