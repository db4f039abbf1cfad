/**
 * Taking an operation back.
 * @module
 */
import { change, problemOf } from "./api.js";
import { dropNotice, refused, told } from "./notices.js";
import { t } from "./strings.js";

/**
 * Undoes an operation and says how it went.
 * @param {string} operation
 * @param {{why?: (problem: import("./api.js").Problem | null) => void, done?: string}} [options] *why* is told the reason
 *   when it is refused, *done* is said when it is not
 * @returns {Promise<boolean>} whether it was undone
 */
export async function undo(operation, { why = refused, done = t("undo.done") } = {}) {
  try {
    await change("undo", { operation });
    dropNotice(operation);
    told(done);
    return true;
  } catch (error) {
    why(problemOf(error));
    return false;
  }
}

/**
 * The button of a notice that takes back what it tells of.
 * @param {string} operation
 * @returns {import("./notices.js").NoticeAction}
 */
export function undoAction(operation) {
  return { label: t("undo"), act: () => void undo(operation), operation };
}
