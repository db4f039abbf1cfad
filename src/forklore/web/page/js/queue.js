/**
 * The operation queue of a timeline's lorebook.
 * @module
 */
import { change, problemOf } from "./api.js";
import { ask } from "./dialog.js";
import { h, name } from "./dom.js";
import { icon } from "./icons.js";
import { refused, told } from "./notices.js";
import { button, queueWords } from "./parts.js";
import { known, t } from "./strings.js";
import { undoAction } from "./undo.js";

/** @typedef {import("./types.js").Queue} Queue */
/** @typedef {import("./types.js").Queued} Queued */

/** What still has to do something. */
export const BUSY = ["pending", "in_progress", "retrying"];

/**
 * The operations of a queue, to look at.
 * @param {Queued[]} operations
 * @returns {HTMLElement}
 */
export function queueList(operations) {
  return h("ul", { class: "queue" }, ...operations.map((operation) => h("li", null, words(operation))));
}

/** @param {Queued} operation @returns {HTMLElement} */
function words(operation) {
  const status = known(`queue.${operation.status}`) ? t(`queue.${operation.status}`) : operation.status;
  const about = operation.entity ?? (typeof operation.message === "number" ? t("queue.message", { number: operation.message }) : operation.target);
  return h("span", { class: "queue-words" }, h("span", { title: operation.type }, queueWords(operation.type)), about ? [" ", name(about)] : null, h("span", { class: `queue-status status-${operation.status}` }, status));
}

/**
 * The queue with a way to cancel what is in it.
 * @param {Queue} queue
 * @param {() => void} changed
 * @returns {HTMLElement}
 */
export function queuePart(queue, changed) {
  const boxes = queue.operations.map((operation) => h("input", { type: "checkbox", value: operation.id, disabled: !BUSY.includes(operation.status), on: { change: () => mark() } }));
  const cancelButton = button(t("queue.cancel"), () => void cancel(), { class: "small", icon: "close" });
  cancelButton.disabled = true;

  function chosen() {
    return boxes.filter((box) => box.checked).map((box) => box.value);
  }
  function mark() {
    cancelButton.disabled = !chosen().length;
  }
  async function cancel() {
    const ids = chosen();
    const sure = await ask({ title: t("queue.cancel"), body: [h("p", null, t("queue.cancel.ask", { count: ids.length })), h("p", { class: "quiet" }, t("queue.cancel.text"))], action: t("queue.cancel") });
    if (!sure) return;
    try {
      /** @type {Queue} */
      const after = await change("queue", { chat: queue.chat, cancel: ids });
      told(t("queue.cancel.done", { count: ids.length }), "", after.operation ? [undoAction(after.operation)] : []);
      changed();
    } catch (error) {
      refused(problemOf(error));
    }
  }

  return h(
    "div",
    null,
    h("h2", null, t("queue.title")),
    queue.operations.length
      ? h("p", null, icon(queue.idle ? "check" : "queue"), " ", queue.idle ? t("queue.idle") : t("queue.busy"))
      : h("p", { class: "quiet" }, t("queue.empty")),
    h("ul", { class: "queue" }, ...queue.operations.map((operation, index) => h("li", null, h("label", { class: "check" }, boxes[index], words(operation))))),
    queue.idle ? null : cancelButton,
  );
}
