/**
 * Dialogs: one at a time has the focus, Escape closes it, and the focus goes back to where it was.
 * @module
 */
import { freshId, h } from "./dom.js";
import { focusSpot, returnFocus } from "./focus.js";
import { icon } from "./icons.js";
import { raiseNotices } from "./notices.js";
import { t } from "./strings.js";

/** @typedef {import("./dom.js").Child} Child */

/**
 * @typedef {Object} Dialog
 * @property {HTMLDialogElement} element
 * @property {HTMLElement} body
 * @property {HTMLElement} foot
 * @property {(title: string) => void} retitle
 * @property {() => void} close
 * @property {AbortSignal} signal aborted when the dialog is closed
 */

/**
 * Opens a dialog.
 * @param {{title: string, class?: string, body?: Child[], foot?: Child[], mayClose?: () => boolean}} options
 * @returns {Dialog}
 */
export function openDialog({ title, class: className = "", body = [], foot = [], mayClose = () => true }) {
  const ended = new AbortController();
  const opener = focusSpot();
  const id = freshId("dialog");
  const heading = h("h2", { id, class: "dialog-title" }, title);
  const bodyPlace = h("div", { class: "dialog-body" }, ...body);
  const footPlace = h("div", { class: "dialog-foot" }, ...foot);
  const close = () => element.close();
  const element = h(
    "dialog",
    { class: `dialog ${className}`.trim(), aria: { labelledby: id } },
    h(
      "div",
      { class: "dialog-frame" },
      h(
        "div",
        { class: "dialog-head" },
        heading,
        h("button", { type: "button", class: "icon-button", aria: { label: t("close") }, on: { click: tryClose } }, icon("close")),
      ),
      bodyPlace,
      footPlace,
    ),
  );
  function tryClose() {
    if (mayClose()) close();
  }
  // Whoever clicks twice means what stood there at first, not what has taken its place: another button, or no dialog.
  footPlace.addEventListener("click", (event) => event.detail > 1 && event.stopPropagation(), { capture: true });
  element.addEventListener("cancel", (event) => {
    if (!mayClose()) event.preventDefault();
  });
  element.addEventListener("mousedown", (event) => {
    if (event.target === element && event.detail < 2) tryClose();
  });
  element.addEventListener("close", () => {
    ended.abort();
    element.remove();
    raiseNotices();
    returnFocus(opener, true); // after the notices: to move them takes the focus away from what is in them
  });
  document.body.append(element);
  element.showModal();
  raiseNotices();
  return {
    element,
    body: bodyPlace,
    foot: footPlace,
    retitle: (text) => (heading.textContent = text),
    close,
    signal: ended.signal,
  };
}

/** Closes every open dialog; the page is going to another place. */
export function closeDialogs() {
  for (const each of document.querySelectorAll("dialog[open]")) /** @type {HTMLDialogElement} */ (each).close();
}

/**
 * Asks before something is done.
 * @param {{title: string, body: Child[], action: string, danger?: boolean, understood?: string}} question
 *   *understood* is a sentence to be ticked first, for what cannot be taken back
 * @returns {Promise<boolean>}
 */
export function ask({ title, body, action, danger = false, understood = "" }) {
  return new Promise((resolve) => {
    const yes = h(
      "button",
      { type: "button", class: danger ? "button danger" : "button primary", disabled: Boolean(understood) },
      action,
    );
    const no = h("button", { type: "button", class: "button" }, t("cancel"));
    const tick = h("input", { type: "checkbox" });
    const dialog = openDialog({
      title,
      class: "dialog-small",
      body: [...body, understood ? h("label", { class: "check understood" }, tick, h("span", null, understood)) : null],
      foot: [no, yes],
    });
    tick.addEventListener("change", () => (yes.disabled = !tick.checked));
    no.addEventListener("click", () => dialog.close());
    yes.addEventListener("click", () => {
      resolve(true);
      dialog.close();
    });
    dialog.signal.addEventListener("abort", () => resolve(false));
    if (!understood) yes.focus();
  });
}
