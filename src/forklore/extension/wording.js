/**
 * Every sentence in the user's language: texts of our own, and the words for what the service tells as codes. A code
 * that our catalogue does not know, of a newer service, is told in the English that came along.
 */
import { context } from './sillytavern.js';
import { Words } from './texts/words.js';

/** @typedef {import('./texts/words.js').Params} Params */
/** @typedef {import('./texts/words.js').Told} Told */
/** @typedef {import('./texts/words.js').Came} Came */
/** @typedef {'checkpoint' | 'branch'} Kind */
/** @typedef {{code: string, params: Params, text?: string}} Fact */
/**
 * @typedef {object} Finding
 * @property {string} code
 * @property {Params} [params]
 * @property {string} severity
 * @property {string} message
 * @property {string} action
 * @property {string} details
 * @property {string[]} repairs
 */

let words = new Words('en', {});

/** When the texts are here; nothing is shown before. */
export const loaded = load();

async function load() {
    const locale = String(context().getCurrentLocale?.() ?? localStorage.getItem('language') ?? navigator.language);
    for (const language of locale.toLowerCase().startsWith('zh') ? ['zh', 'en'] : ['en']) {
        const place = new URL(`./texts/${language}.json`, import.meta.url);
        const response = await fetch(place, { cache: 'no-cache' }).catch(() => null);
        const catalogue = response?.ok ? await response.json().catch(() => null) : null;
        if (catalogue) {
            words = new Words(language, catalogue);
            return;
        }
    }
    console.error('[Forklore] There are no texts: run `forklore extension install`.');
}

/**
 * A text of the extension.
 * @param {string} key
 * @param {Params} [params]
 * @returns {string}
 */
export const t = (key, params) => words.text(`st.${key}`, params);

/**
 * A text that gives a *reason*, which may go on with lines of what to do.
 * @param {string} key
 * @param {string} reason
 * @param {Params} [params]
 * @returns {string}
 */
export function because(key, reason, params = {}) {
    const [first = '', ...more] = reason.split('\n');
    return [t(key, { ...params, reason: first }), ...more].join('\n');
}

/**
 * What the catalogue has for one of several things, the *otherwise* where it has nothing.
 * @param {string} key
 * @param {string} otherwise
 */
export const named = (key, otherwise) => (words.has(key) ? words.text(key) : otherwise);

/** Commands are marked as Markdown marks them. @param {string} text */
const plain = (text) => text.replace(/`([^`]*)`/g, '“$1”');

/**
 * @param {string} fact such as `finding.CHAT_DAMAGED`
 * @param {Came} came
 * @returns {Told}
 */
function told(fact, came) {
    const { message, why, details, action, steps } = words.told(fact, came, 'st');
    const short = came.params ? words.part(fact, 'reason', came.params) : '';
    return {
        message: plain(short || message),
        why: plain(why),
        details: plain(details),
        action: plain(action),
        steps: steps.map(plain),
    };
}

/** What is told of a finding. @param {Finding} finding @returns {Told} */
export const toldOf = (finding) => told(`finding.${finding.code}`, finding);

/**
 * What is told of a problem; if it is that of one finding alone, what that says.
 * @param {Came & {code: string, findings: Finding[]}} problem
 * @returns {Told}
 */
export function toldOfProblem({ code, params, message, action, findings }) {
    const [first] = findings;
    return first?.code === code ? toldOf(first) : told(`error.${code}`, { params, message, action });
}

/** A fact that is told for itself. @param {Fact} fact @returns {string} */
export const worded = (fact) => plain(words.word(fact));

/** A finding in one line. @param {Finding} finding */
export const lineOf = (finding) => `${toldOf(finding).message} (${finding.code})`;

/**
 * What a fork remembers of the story, a line each.
 * @param {any} record what was recorded when it was made
 * @returns {string[]}
 */
export function recapLines(record) {
    const version = record?.running_recap_version;
    const scenes = record?.running_recap_scene_count;
    const count = record?.combined_recap_message_count;
    return [
        ...(version === null || version === undefined ? [] : [t('running', { version, scenes: scenes ?? 0 })]),
        ...(count ? [t('combined', { count })] : []),
    ];
}
