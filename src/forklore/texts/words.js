/**
 * Every sentence in the reader's language: the same catalogues and rules as in forklore.texts.
 * @module
 */
import { printable } from './printable.js';
import { fill, parse } from './template.js';

export const LANGUAGES = ['en', 'zh'];
const LISTS = { en: [', ', '; '], zh: ['、', '；'] };

/** @typedef {import('./template.js').Params} Params */
/** @typedef {{code: string, params: Params, text?: string}} Fact with its English words, where it travels alone */
/** @typedef {{params?: Params | null, message: string, details?: string, action: string}} Came a finding or a problem with its English words */
/** @typedef {{message: string, why: string, details: string, action: string, steps: string[]}} Told */

export class Words {
    /**
     * @param {string} language
     * @param {Record<string, string>} catalogue
     */
    constructor(language, catalogue) {
        const [comma, semicolon] = LISTS[/** @type {'en' | 'zh'} */ (language)] ?? LISTS.en;
        const plurals = new Intl.PluralRules(language);
        const figures = new Intl.NumberFormat(language);
        this.language = language;
        this.catalogue = catalogue;
        this.grammar = {
            plural: (/** @type {number} */ count) => plurals.select(count),
            comma: /** @type {string} */ (comma),
            semicolon: /** @type {string} */ (semicolon),
            word: (/** @type {Fact} */ fact) => this.word(fact),
            named: (/** @type {string} */ family, /** @type {string} */ value) =>
                this.text(this.has(`${family}.${value}`) ? `${family}.${value}` : `${family}.other`),
            number: (/** @type {number} */ value) => figures.format(value),
            name: printable,
        };
    }

    /** @param {string} key @returns {boolean} whether there are words for it */
    has(key) {
        return Object.hasOwn(this.catalogue, key);
    }

    /** @param {string} key @param {Params} [params] @returns {string} the key itself where there are no words */
    text(key, params = {}) {
        return this.has(key) ? fill(parse(this.catalogue[key] ?? ''), params, this.grammar) : key;
    }

    /**
     * One part of what is told about a fact: its message, why, details, action, steps; empty when there is none.
     * @param {string} fact such as `finding.CHAT_DAMAGED`
     * @param {string} part
     * @param {Params} params
     * @returns {string}
     */
    part(fact, part, params) {
        return this.first(fact, [part], params);
    }

    /**
     * The first part that there is: of the very case, else of the fact.
     * @param {string} fact
     * @param {string[]} parts
     * @param {Params} params
     * @returns {string}
     */
    first(fact, parts, params) {
        const places = params['case'] ? [`${fact}.${params['case']}`, fact] : [fact];
        const key = places.flatMap((place) => parts.map((part) => `${place}.${part}`)).find((each) => this.has(each));
        return key ? this.text(key, params) : '';
    }

    /**
     * All that is told about a finding or an error; as it came where there are no words for it.
     * @param {string} fact
     * @param {Came} came a service of before sends no params
     * @param {string} face who tells it, and may have a way of its own to do something about it
     * @returns {Told}
     */
    told(fact, { params, message, details = '', action }, face) {
        const title = params ? this.part(fact, 'message', params) : '';
        if (!params || !title) return { message, why: '', details, action, steps: [] };
        return {
            message: title,
            why: this.part(fact, 'why', params),
            details: this.part(fact, 'details', params),
            action: this.first(fact, [face, 'action'], params),
            steps: this.part(fact, 'steps', params).split('\n').filter(Boolean),
        };
    }

    /** @param {Fact} fact that stands in another one @returns {string} as it came where there are no words for it */
    word({ code, params = {}, text = '' }) {
        if (code === code.toUpperCase()) return this.part(`error.${code}`, 'message', params) || text || code;
        const key = params['case'] ? `fact.${code}.${params['case']}` : `fact.${code}`;
        return this.has(key) ? this.text(key, params) : text || code;
    }
}
