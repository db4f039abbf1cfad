/**
 * Taking an operation back.
 * @module
 */
import { change, problemOf } from "./api.js";
import { refused, told } from "./notices.js";
import { t } from "./strings.js";

/**
 * Undoes an operation and says how it went.
 * @param {string} operation
 * @param {() => void} [done]
 * @returns {Promise<boolean>} whether it was undone
 */
export async function undo(operation, done = () => undefined) {
  try {
    await change("undo", { operation });
    told(t("undo.done"));
    done();
    return true;
  } catch (error) {
    refused(problemOf(error));
    return false;
  }
}

/**
 * The button of a notice that takes back what it tells of.
 * @param {string} operation
 * @returns {import("./notices.js").NoticeAction}
 */
export function undoAction(operation) {
  return { label: t("undo"), act: () => void undo(operation) };
}
