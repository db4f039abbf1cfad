/**
 * Taking an operation back.
 * @module
 */
import { change, problemOf } from "./api.js";
import { dropNotice, halfDone, refused, told } from "./notices.js";
import { t } from "./strings.js";

/**
 * Undoes an operation and says how it went.
 * @param {string} operation
 * @param {{why?: (problem: import("./api.js").Problem | null) => void, done?: string, later?: string[]}} [options] *why* is told the reason
 *   when it is refused, *done* is said when it is not, *later* was built upon it and is undone first
 * @returns {Promise<boolean>} whether it was undone
 */
export async function undo(operation, { why = refused, done = t("undo.done"), later = [] } = {}) {
  try {
    /** @type {import("./strings.js").Fact[]} */
    const pending = [];
    for (const each of [...later, operation]) pending.push(...(await change("undo", { operation: each })).pending_facts);
    dropNotice(operation);
    if (pending.length) halfDone(pending);
    else told(done);
    return true;
  } catch (error) {
    why(problemOf(error));
    return false;
  }
}

/**
 * The button of a notice that takes back what it tells of.
 * @param {string} operation
 * @param {string[]} [later] what was built upon it
 * @returns {import("./notices.js").NoticeAction}
 */
export function undoAction(operation, later = []) {
  return { label: t("undo"), act: () => void undo(operation, { later }), operation };
}
