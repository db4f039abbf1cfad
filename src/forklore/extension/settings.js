/** What the user has set for the extension; kept among SillyTavern's own settings. */
import { context, userHandle } from './sillytavern.js';

/**
 * @typedef {object} Settings
 * @property {string} address where the service is; empty for the host the page came from, a number for a port there
 * @property {'all' | 'problems' | 'none'} notices what is told when a chat opens
 * @property {'refuse' | 'allow'} whenAway what happens to forks while the service is away
 */

/** @type {Settings} */
const DEFAULTS = { address: '', notices: 'all', whenAway: 'refuse' };

/** @returns {Settings} */
export function settings() {
    const { extensionSettings } = context();
    extensionSettings.forklore = { ...DEFAULTS, ...extensionSettings.forklore };
    return extensionSettings.forklore;
}

/** @param {Partial<Settings>} changes */
export function changeSettings(changes) {
    Object.assign(settings(), changes);
    context().extensionSettings.forklore = settings();
    context().saveSettingsDebounced();
}

/** @returns {string} the address of the service, without a slash at its end */
export function serviceAddress() {
    const set = settings().address.trim().replace(/\/+$/, '');
    const port = /^:?(\d{1,5})$/.exec(set)?.[1];
    if (set && !port) {
        return /^https?:\/\//.test(set) ? set : `http://${set}`;
    }
    // A proxy may serve the page encrypted; the service on this machine speaks plainly, and browsers allow that here.
    const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(location.hostname);
    return `${isHere ? 'http:' : location.protocol}//${location.hostname}:${port ?? 7788}`;
}

/** The name of something in the browser's storage: people who share a browser each have their own. @param {string} key */
export const storageKey = (key) => `forklore.${key} ${userHandle()}`;

/**
 * A small list of texts in the browser's storage.
 * @param {string} key
 */
export function remembered(key) {
    /** @returns {string[]} */
    const all = () => {
        try {
            const value = JSON.parse(localStorage.getItem(storageKey(key)) ?? '[]');
            return Array.isArray(value) ? value.map(String) : [];
        } catch {
            return [];
        }
    };
    const write = (/** @type {string[]} */ values) =>
        localStorage.setItem(storageKey(key), JSON.stringify(values.slice(-500)));
    return {
        all,
        has: (/** @type {string} */ value) => all().includes(value),
        add: (/** @type {string} */ value) => write([...all().filter((each) => each !== value), value]),
        drop: (/** @type {string} */ value) => write(all().filter((each) => each !== value)),
    };
}
