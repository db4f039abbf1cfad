/**
 * Sentences with gaps: the same small part of ICU's message format as in template.py, where it is told.
 * @module
 */

/** @typedef {{name: string, how: string, cases: Map<string, Template>}} Gap */
/** @typedef {(string | Gap)[]} Template */
/** @typedef {Record<string, any>} Params */
/**
 * @typedef {object} Grammar what a language does with numbers and lists, and how it words a fact in a sentence
 * @property {(count: number) => string} plural
 * @property {string} comma
 * @property {string} semicolon
 * @property {(fact: {code: string, params: Params}) => string} word
 * @property {(family: string, value: string) => string} named words a value as one of a family of texts
 * @property {(value: number) => string} number
 * @property {(value: string) => string} name makes a name one line that can be shown
 */

/** @type {Map<string, Template>} */
const parsed = new Map();

/** @param {string} text @returns {Template} */
export function parse(text) {
    let template = parsed.get(text);
    if (!template) {
        const [parts, end] = partsOf(text, 0);
        if (end !== text.length) throw new Error(`a brace too many: ${text}`);
        parsed.set(text, (template = parts));
    }
    return template;
}

/** @param {string} text @param {number} at @returns {[Template, number]} */
function partsOf(text, at) {
    /** @type {Template} */
    const parts = [];
    let words = '';
    while (at < text.length && text[at] !== '}') {
        if (text[at] === '\\' && (text[at + 1] === '{' || text[at + 1] === '}')) {
            words += text[at + 1];
            at += 2;
        } else if (text[at] === '{') {
            if (words) parts.push(words);
            words = '';
            const [gap, end] = gapOf(text, at + 1);
            parts.push(gap);
            at = end;
        } else {
            words += text[at++];
        }
    }
    if (words) parts.push(words);
    return [parts, at];
}

/** @param {string} text @param {number} at @returns {[Gap, number]} */
function gapOf(text, at) {
    let end = at;
    while (end < text.length && text[end] !== ',' && text[end] !== '}') end++;
    const name = text.slice(at, end).trim();
    if (!/^[A-Za-z_]\w*$/.test(name)) throw new Error(`a gap has no name: ${text}`);
    if (text[end] === '}') return [{ name, how: '', cases: new Map() }, end + 1];
    let how;
    [how, at] = wordOf(text, end + 1);
    if (how === 'list' || how === 'lines') return [{ name, how, cases: new Map() }, closed(text, at)];
    if (how === 'named') {
        const [family, after] = wordOf(text, at + 1);
        return [{ name, how, cases: new Map([[family, []]]) }, closed(text, after)];
    }
    if (how === 'each') {
        const [template, after] = partsOf(text, text.startsWith(', ', at) ? at + 2 : at);
        return [{ name, how, cases: new Map([['', template]]) }, closed(text, after)];
    }
    if (how !== 'plural' && how !== 'select') throw new Error(`${how} is no way to fill a gap: ${text}`);
    const cases = new Map();
    if (text[at] === ',') at++;
    while (!/^\s*(\}|$)/.test(text.slice(at))) {
        let key;
        [key, at] = wordOf(text, at);
        const opening = text.indexOf('{', at);
        if (opening < 0) throw new Error(`a brace is missing: ${text}`);
        const [template, after] = partsOf(text, opening + 1);
        cases.set(key, template);
        at = closed(text, after);
    }
    if (!cases.has('other')) throw new Error(`a choice has no other: ${text}`);
    return [{ name, how, cases }, closed(text, at)];
}

/** @param {string} text @param {number} at @returns {[string, number]} */
function wordOf(text, at) {
    while (/\s/.test(text[at] ?? '')) at++;
    let end = at;
    while (end < text.length && !/[\s,{}]/.test(text[end] ?? '')) end++;
    return [text.slice(at, end), end];
}

/** @param {string} text @param {number} at @returns {number} */
function closed(text, at) {
    while (/\s/.test(text[at] ?? '')) at++;
    if (text[at] !== '}') throw new Error(`a brace is missing: ${text}`);
    return at + 1;
}

/**
 * @param {Template} template
 * @param {Params} params
 * @param {Grammar} grammar
 * @param {number} [number] stands for #
 * @returns {string}
 */
export function fill(template, params, grammar, number) {
    return template
        .map((part) => {
            if (typeof part !== 'string') return filled(part, params, grammar);
            return number === undefined ? part : part.replaceAll('#', grammar.number(number));
        })
        .join('');
}

/** @param {Gap} gap @param {Params} params @param {Grammar} grammar @returns {string} */
function filled(gap, params, grammar) {
    const value = Object.hasOwn(params, gap.name) ? params[gap.name] : null;
    const { cases } = gap;
    const other = cases.get('other') ?? [];
    switch (gap.how) {
        case 'plural':
            return fill(cases.get(`=${value}`) ?? cases.get(grammar.plural(value ?? 0)) ?? other, params, grammar, value ?? 0);
        case 'select':
            return fill(cases.get(chosen(value)) ?? other, params, grammar);
        case 'named':
            return grammar.named([...cases.keys()][0] ?? '', chosen(value));
        case 'each':
            return listed(value).map((item) => fill(cases.get('') ?? [], fields(item), grammar)).join(grammar.semicolon);
        case 'list':
            return listed(value).map((item) => worded(item, grammar)).join(grammar.comma);
        case 'lines':
            return listed(value).map((item) => worded(item, grammar)).join('\n');
        default:
            return worded(value, grammar);
    }
}

/** @param {unknown} value @returns {any[]} */
const listed = (value) => (Array.isArray(value) ? value : []);

/** @param {any} item @returns {Params} */
const fields = (item) => (item !== null && typeof item === 'object' && !Array.isArray(item) ? item : { it: item });

/** @param {any} value @returns {string} */
function chosen(value) {
    const isNothing = value === null || value === undefined || value === '' || (Array.isArray(value) && !value.length);
    return isNothing ? 'none' : String(value);
}

/** @param {any} value @param {Grammar} grammar @returns {string} */
function worded(value, grammar) {
    if (value === null || value === undefined) return '';
    if (Array.isArray(value)) return value.map((item) => worded(item, grammar)).join(grammar.comma);
    if (typeof value === 'object') return grammar.word(value);
    return typeof value === 'number' ? grammar.number(value) : grammar.name(String(value));
}
