/**
 * Short notices in a corner of the page; a screen reader tells them.
 * @module
 */
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { said } from "./said.js";
import { known, t } from "./strings.js";

/** @typedef {import("./api.js").Problem} Problem */
/** @typedef {{label: string, act: () => void, operation?: string}} NoticeAction */

const STAYS = 7000;
const STAYS_WITH_ACTION = 20_000;
const MOST = 2;

const calm = h("div", { class: "notices-calm", role: "status", aria: { live: "polite" } });
const urgent = h("div", { class: "notices-urgent", role: "alert" });
/** @type {HTMLElement[]} those that are shown, oldest first */
let shown = [];

/** @returns {HTMLElement} the place of the notices */
export function noticePlace() {
  return h("div", { class: "notices" }, calm, urgent);
}

/** A dialog is above everything else, so notices move into it: above its buttons, where they cover nothing. */
export function raiseNotices() {
  const place = calm.parentElement;
  if (!place) return;
  const open = [...document.querySelectorAll("dialog[open]")].at(-1);
  const foot = open?.querySelector(".dialog-foot");
  const home = foot?.parentElement ?? open ?? document.body;
  if (place.parentElement !== home) home.insertBefore(place, foot ?? null);
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
 * @param {string[]} pending what could not be written any more
 * @param {NoticeAction[]} [actions]
 */
export function halfDone(pending, actions = []) {
  show("bad", t("pending"), [...pending, t("pending.action")].join("\n"), actions);
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
  const [title, text] = problemWords(problem);
  show("bad", title, text, []);
}

/**
 * What a problem says and what can be done about it, in the language of the page where there are words for it.
 * @param {Problem} problem
 * @returns {[string, string]}
 */
export function problemWords(problem) {
  if (problem.offline) return [t("problem.OFFLINE"), t("problem.OFFLINE.action")];
  const title = known(`problem.${problem.code}`) ? t(`problem.${problem.code}`) : said(problem.detail) || t("problem.unknown");
  // Of a bad request the service says what is to be done, or how the command line is used.
  const theirs = problem.code === "BAD_REQUEST" && problem.action && !problem.action.includes("--help");
  const action = known(`problem.${problem.code}.action`) && !theirs ? t(`problem.${problem.code}.action`) : said(problem.action);
  return [title, action];
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
