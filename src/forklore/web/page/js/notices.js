/**
 * Short notices in a corner of the page; a screen reader tells them.
 * @module
 */
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { factWords, hasWords, t, toldOf } from "./strings.js";

/** @typedef {import("./api.js").Problem} Problem */
/** @typedef {import("./strings.js").Fact} Fact */
/** @typedef {{label: string, act: () => void, operation?: string}} NoticeAction */

const STAYS = 7000;
const STAYS_WITH_ACTION = 20_000;
const MOST = 2;

const calm = h("div", { class: "notices-calm", role: "status", aria: { live: "polite" } });
const urgent = h("div", { class: "notices-urgent", role: "alert" });
/** @type {HTMLElement[]} those that are shown, oldest first */
let shown = [];
/** @type {WeakMap<HTMLElement, Element>} the dialog that each was told in */
const toldIn = new WeakMap();

/** @returns {HTMLElement} the place of the notices */
export function noticePlace() {
  return h("div", { class: "notices" }, calm, urgent);
}

/** @returns {Element} what is above everything else: the dialog that was opened last, or the page */
function topmost() {
  return [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
}

/**
 * A dialog is above everything else, so notices move into it: above its buttons, where they cover nothing. What was told
 * before it was opened has nothing to do with it, and waits until it is closed.
 */
export function raiseNotices() {
  const place = calm.parentElement;
  if (!place) return;
  const top = topmost();
  const foot = top.querySelector(":scope .dialog-foot");
  const home = top === document.body ? top : (foot?.parentElement ?? top);
  if (place.parentElement !== home) home.insertBefore(place, home === top ? null : foot);
  for (const notice of shown) {
    const owner = toldIn.get(notice);
    if (!owner?.isConnected || (owner instanceof HTMLDialogElement && !owner.open)) toldIn.set(notice, top);
    notice.hidden = toldIn.get(notice) !== top;
  }
}

/**
 * @param {"good" | "bad" | "plain"} tone
 * @param {string} title
 * @param {string} text
 * @param {NoticeAction[]} actions
 */
function show(tone, title, text, actions) {
  const gone = () => notice.remove();
  const notice = h(
    "div",
    { class: `notice notice-${tone}` },
    icon(tone === "good" ? "check" : tone === "bad" ? "warning" : "clock"),
    h(
      "div",
      { class: "notice-words" },
      h("p", { class: "notice-title" }, title),
      text ? h("p", { class: "notice-text" }, text) : null,
      actions.length
        ? h(
            "p",
            { class: "notice-actions" },
            ...actions.map((each) =>
              h("button", { type: "button", class: "link-button", on: { click: () => (gone(), each.act()) } }, each.label),
            ),
          )
        : null,
    ),
    h("button", { type: "button", class: "icon-button", aria: { label: t("close") }, on: { click: gone } }, icon("close")),
  );
  const undoes = actions.find((each) => each.operation)?.operation;
  if (undoes) notice.dataset["operation"] = undoes;
  toldIn.set(notice, topmost());
  (tone === "bad" ? urgent : calm).append(notice);
  shown = [...shown.filter((each) => each.isConnected), notice];
  for (const old of shown.slice(0, -MOST)) old.remove();
  raiseNotices();
  leaveLater(notice, actions.length || tone === "bad" ? STAYS_WITH_ACTION : STAYS);
}

/**
 * Takes a notice away after a while, not while somebody is reading it.
 * @param {HTMLElement} notice
 * @param {number} milliseconds
 */
function leaveLater(notice, milliseconds) {
  let timer = window.setTimeout(() => notice.remove(), milliseconds);
  const stay = () => clearTimeout(timer);
  const again = () => (timer = window.setTimeout(() => notice.remove(), milliseconds));
  for (const event of ["pointerenter", "focusin"]) notice.addEventListener(event, stay);
  for (const event of ["pointerleave", "focusout"]) notice.addEventListener(event, again);
}

/**
 * Something went well.
 * @param {string} title
 * @param {string} [text]
 * @param {NoticeAction[]} [actions]
 */
export function told(title, text = "", actions = []) {
  show("good", title, text, actions);
}

/**
 * Something was done, but not all of it.
 * @param {Fact[]} pending what could not be written any more
 * @param {NoticeAction[]} [actions]
 */
export function halfDone(pending, actions = []) {
  show("bad", t("pending"), [...pending.map(factWords), t("pending.action")].join("\n"), actions);
}

/**
 * Something happened that is neither good nor bad.
 * @param {string} title
 * @param {NoticeAction[]} [actions]
 */
export function mentioned(title, actions = []) {
  show("plain", title, "", actions);
}

/**
 * Something was refused. Being offline or logged out is shown by the page itself.
 * @param {Problem | null} problem
 */
export function refused(problem) {
  if (!problem || problem.loggedOut) return;
  const { title, choices, action } = problemWords(problem);
  show("bad", title, [...choices, action].filter(Boolean).join("\n"), []);
}

/**
 * What a problem says, what there is to choose from, and what can be done about it: in the language of the page, or as
 * the service says it where there are no words for it.
 * @param {Problem} problem
 * @returns {{title: string, choices: string[], action: string}}
 */
export function problemWords({ offline, code, params, detail, action }) {
  if (offline) return { title: t("problem.OFFLINE"), choices: [], action: t("problem.OFFLINE.action") };
  // What only one finding blocks is refused in the name of that finding.
  const fact = [`error.${code}`, `finding.${code}`].find((each) => params && hasWords(each, params));
  if (!fact || !params) return { title: detail || t("problem.unknown"), choices: [], action };
  const told = toldOf(fact, { params, message: detail, action });
  const { choices = [], more_choices: more = 0 } = params;
  return { title: told.message, choices: [...choices, ...(more ? [t("more", { count: more })] : [])], action: told.action };
}

/**
 * Takes away the notice that offers to undo an operation: it is undone.
 * @param {string} operation
 */
export function dropNotice(operation) {
  for (const notice of [...calm.children]) {
    if (notice instanceof HTMLElement && notice.dataset["operation"] === operation) notice.remove();
  }
}
