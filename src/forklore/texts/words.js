/**
 * Every sentence in the reader's language: the same catalogues and rules as in forklore.texts.
 * @module
 */
import { fill, parse } from './template.js';

export const LANGUAGES = ['en', 'zh'];
const LISTS = { en: [', ', '; '], zh: ['、', '；'] };

/** @typedef {import('./template.js').Params} Params */
/** @typedef {{code: string, params: Params, text?: string}} Fact with its English words, where it travels alone */

export class Words {
    /**
     * @param {string} language
     * @param {Record<string, string>} catalogue
     * @param {(name: string) => string} name makes a name one line that can be shown
     */
    constructor(language, catalogue, name) {
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
            name,
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
        const keys = params['case'] ? [`${fact}.${params['case']}.${part}`, `${fact}.${part}`] : [`${fact}.${part}`];
        const key = keys.find((each) => this.has(each));
        return key ? this.text(key, params) : '';
    }

    /** @param {Fact} fact that stands in another one @returns {string} as it came where there are no words for it */
    word({ code, params = {}, text = '' }) {
        if (code === code.toUpperCase()) return this.part(`error.${code}`, 'message', params) || text || code;
        const key = params['case'] ? `fact.${code}.${params['case']}` : `fact.${code}`;
        return this.has(key) ? this.text(key, params) : text || code;
    }
}
