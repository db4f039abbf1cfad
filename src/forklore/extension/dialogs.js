/** Dialogs and notices. Every text of a story goes through `textContent`: it may hold anything. */
import { plain, problemText } from './api.js';
import { context } from './sillytavern.js';
import { ofKind, t } from './strings.js';

const MOMENT_MS = 1_000;

// Control characters and changes of direction; breaks and tabs of a text stay.
const NOT_PRINTABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** @typedef {import('./api.js').Finding} Finding */
/** @typedef {import('./api.js').Problem} Problem */
/** @typedef {import('./strings.js').Kind} Kind */

/**
 * @param {string} text from anywhere
 * @returns {string} the same with an escape for each character that would not just stand there
 */
export const printable = (text) =>
    text.replace(NOT_PRINTABLE, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * @param {string} tag
 * @param {string} classes
 * @param {...(string | Node)} children texts and elements
 * @returns {HTMLElement}
 */
export function element(tag, classes = '', ...children) {
    const made = document.createElement(tag);
    made.className = classes;
    made.append(...children.map((child) => (typeof child === 'string' ? printable(child) : child)));
    return made;
}

/** The latest notice of each text. @type {Map<string, any>} */
const noticed = new Map();

/**
 * Tell something; the same text is never on the screen twice.
 * @param {'info' | 'success' | 'warning' | 'error'} level
 * @param {string} text
 * @param {string} [title]
 * @param {{onclick?: () => void, timeOut?: number}} [options]
 */
export function notice(level, text, title = 'Forklore', options = {}) {
    noticed.get(text)?.remove();
    const shown = toastr[level](printable(text), title, {
        timeOut: level === 'error' ? 12_000 : 7_000,
        ...options,
        escapeHtml: true,
        toastClass: 'toast forklore-toast',
        onHidden: () => {
            if (noticed.get(text) === shown) {
                noticed.delete(text);
            }
            toastr.options.onHidden?.();
        },
    });
    noticed.set(text, shown);
    return shown;
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
 * One finding: what it is, what it is about, what to do.
 * @param {Finding} finding
 * @param {...Node} more
 */
export function findingElement(finding, ...more) {
    const made = element('div', `forklore-finding forklore-${finding.severity}`, element('strong', '', finding.message));
    made.dataset.code = finding.code;
    made.append(element('code', '', finding.code));
    if (finding.details) {
        made.append(element('div', 'forklore-details', finding.details));
    }
    if (finding.action) {
        made.append(element('div', 'forklore-action', `→ ${plain(finding.action)}`));
    }
    made.append(...more);
    return made;
}

/**
 * Say why a fork cannot be made: every reason, each with what to do.
 * @param {Kind} kind
 * @param {{errors: Finding[], warnings: Finding[]}} report
 * @returns {Promise<'wait' | null>}
 */
export async function showBlocked(kind, { errors, warnings }) {
    const content = element('div', 'forklore-dialog', heading(ofKind('cannot', kind)), element('p', '', t('must_be_met')));
    content.append(...errors.map((finding) => findingElement(finding)));
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
    return () => {
        dialog.close();
        dialog.remove();
    };
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
        open = curtain(t('editing'));
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
        this.items = /** @type {const} */ (['step_1', 'step_2', 'step_3', 'step_4']).map((key) =>
            element('li', 'forklore-step', element('span', '', t(key))),
        );
        /** What stops the work, while that leaves nothing behind. @type {() => void} */
        this.cancel = () => {};
        const cancel = element('div', 'menu_button', t('cancel'));
        cancel.addEventListener('click', () => this.cancel());
        this.dialog = /** @type {HTMLDialogElement} */ (
            element('dialog', 'forklore-steps', heading(ofKind('making', kind)), element('ol', '', ...this.items), cancel)
        );
        this.dialog.addEventListener('cancel', (event) => event.preventDefault());
        this.dialog.addEventListener('keydown', (event) => event.stopPropagation());
        document.body.append(this.dialog);
        this.dialog.showModal();
        this.reach(1);
    }

    /** @param {{step?: number, note?: string, good?: boolean | null}} progress */
    tell({ step, note, good }) {
        if (step) {
            this.reach(step);
        } else if (note) {
            const mark = good ? '✓ ' : good === false ? '⚠ ' : '';
            this.items[this.step - 1]?.append(element('div', 'forklore-note', `${mark}${note}`));
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
        this.dialog.close();
        this.dialog.remove();
    }
}
