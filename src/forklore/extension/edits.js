/** Edits that the service leaves to the page, made on what the page has in memory as the service makes them on files. */

/**
 * @typedef {object} Edit
 * @property {number | null} line a message's number, -1 for the header; null in a file that has no lines
 * @property {'put' | 'drop' | 'append' | 'take'} do
 * @property {(string | number)[]} path
 * @property {string | null} text a value as JSON
 * @property {string | null} only_if the value that must be there, as JSON
 * @property {number} prune how many parents go too if that empties them
 */

/**
 * Make an edit, unless what it is about has changed or there is nothing to do.
 * @param {any} root
 * @param {Edit} edit
 * @returns {boolean} whether it was made
 */
export function makeEdit(root, { do: what, path, text, only_if: condition, prune }) {
    const value = text === null ? undefined : JSON.parse(text);
    switch (what) {
        case 'put':
            return put(root, path, value, condition);
        case 'drop':
            return drop(root, path, condition) && pruned(root, path, prune);
        case 'append':
            return append(root, path, value);
        case 'take':
            return take(root, path, value, prune);
        default:
            return false;
    }
}

/** @param {any} root @param {Edit['path']} path @param {any} value @param {Edit['only_if']} condition */
function put(root, path, value, condition) {
    if (!has(root, path)) {
        return condition === null && make(root, path, value);
    }
    const old = at(root, path);
    return fits(old, condition) && !isSame(old, value) && set(root, path, value);
}

/** Put a value where there is none yet, with the parents that are missing. @param {any} root @param {Edit['path']} path @param {any} value */
function make(root, path, value) {
    const known = path.findIndex((_, length) => !has(root, path.slice(0, length + 1)));
    const below = path.slice(known);
    if (below.some((step) => typeof step === 'number')) {
        return false; // an array is not made longer
    }
    // A parent that is there but is no object cannot hold a member: it is replaced as a whole.
    const place = isObject(at(root, path.slice(0, known))) ? path.slice(0, known + 1) : path.slice(0, known);
    return place.length > 0 && set(root, place, nested(path.slice(place.length), value));
}

/** @param {any} root @param {Edit['path']} path @param {Edit['only_if']} condition */
function drop(root, path, condition) {
    // An item is taken by what it is: its number may be another's by now.
    const isMember = has(root, path) && isObject(at(root, path.slice(0, -1)));
    return isMember && fits(at(root, path), condition) && remove(root, path);
}

/** @param {any} root @param {Edit['path']} path @param {any} value */
function append(root, path, value) {
    const items = at(root, path);
    if (!Array.isArray(items)) {
        return put(root, path, [value], null);
    }
    return !items.some((item) => isSame(item, value)) && items.push(value) > 0;
}

/** @param {any} root @param {Edit['path']} path @param {any} value @param {number} prune */
function take(root, path, value, prune) {
    const items = at(root, path);
    const left = Array.isArray(items) ? items.filter((item) => !isSame(item, value)) : null;
    if (left === null || left.length === items.length) {
        return false;
    }
    items.splice(0, items.length, ...left);
    return items.length > 0 || prune === 0 || (remove(root, path) && pruned(root, path, prune - 1));
}

/** Remove parents that became empty. @param {any} root @param {Edit['path']} path @param {number} levels */
function pruned(root, path, levels) {
    for (let level = 1; level <= levels; level += 1) {
        const parent = path.slice(0, -level);
        const found = at(root, parent);
        const isEmpty = typeof found === 'object' && found !== null && Object.keys(found).length === 0;
        if (!parent.length || !isEmpty || !isObject(at(root, parent.slice(0, -1)))) {
            break;
        }
        remove(root, parent);
    }
    return true;
}

// --- small parts --------------------------------------------------------------------------------------------------

/** @param {any} found @param {Edit['only_if']} condition */
const fits = (found, condition) => condition === null || isSame(found, JSON.parse(condition));

/** @param {any} value */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** @param {any} holder @param {string | number} step */
function leads(holder, step) {
    if (Array.isArray(holder)) {
        return typeof step === 'number' && step >= 0 && step < holder.length;
    }
    return isObject(holder) && typeof step === 'string' && Object.hasOwn(holder, step);
}

/** @param {any} root @param {Edit['path']} path @returns {any} undefined where there is nothing */
const at = (root, path) => path.reduce((holder, step) => (leads(holder, step) ? holder[step] : undefined), root);

/** @param {any} root @param {Edit['path']} path */
const has = (root, path) => path.length > 0 && leads(at(root, path.slice(0, -1)), /** @type {any} */ (path.at(-1)));

/** Also a chat can be called `__proto__`. @param {any} root @param {Edit['path']} path @param {any} value */
function set(root, path, value) {
    const as = { value, writable: true, enumerable: true, configurable: true };
    return Boolean(Object.defineProperty(at(root, path.slice(0, -1)), /** @type {any} */ (path.at(-1)), as));
}

/** @param {any} root @param {Edit['path']} path */
function remove(root, path) {
    const [holder, step] = [at(root, path.slice(0, -1)), /** @type {any} */ (path.at(-1))];
    return Array.isArray(holder) ? holder.splice(step, 1).length > 0 : delete holder[step];
}

/** @param {Edit['path']} keys @param {any} value @returns {any} */
const nested = (keys, value) =>
    keys.reduceRight((inner, key) => {
        const outer = {};
        set(outer, [key], inner);
        return outer;
    }, value);

/** Whether two values are one in JSON. @param {any} one @param {any} other @returns {boolean} */
function isSame(one, other) {
    if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) {
        return one === other;
    }
    const keys = Object.keys(one);
    return (
        Array.isArray(one) === Array.isArray(other) &&
        keys.length === Object.keys(other).length &&
        keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]))
    );
}
