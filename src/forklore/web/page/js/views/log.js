/**
 * Every operation, newest first, each with its undo.
 * @module
 */
import { look } from "../api.js";
import { fill, h } from "../dom.js";
import { chatTitle, clock, day, moment } from "../format.js";
import { icon } from "../icons.js";
import { problemWords } from "../notices.js";
import { button, chatName, emptiness } from "../parts.js";
import { actionPart } from "../problems.js";
import { keepFresh, steady } from "../refresh.js";
import { link } from "../router.js";
import { known, t } from "../strings.js";
import { undo } from "../undo.js";

/** @typedef {import("../types.js").Operation} Operation */
/** @typedef {{does: "did" | "undid" | "again" | null, first: Operation | null}} Deed what was done to which step; null where that is not known */

const ICONS = new Map(Object.entries({ checkpoint: "bookmark", branch: "branch", isolate: "shield", share: "book", delete: "trash", cleanup: "trash", restore: "restore", undo: "undo", repair: "check", cancel: "close" }));
const COMES_OR_GOES = ["checkpoint", "branch", "restore", "delete"];
const SHOWN = 200;

/**
 * @param {HTMLElement} place
 * @param {string[]} _
 * @param {AbortSignal} signal
 */
export async function showLog(place, _, signal) {
  const list = h("div", { class: "log" });
  let shown = SHOWN;

  async function load() {
    /** @type {{operations: Operation[]}} */
    const { operations } = await look("log", {}, { signal });
    draw(operations);
  }

  /** @param {Operation[]} operations */
  function draw(operations) {
    if (!operations.length) return fill(list, emptiness("clock", t("log.empty"), h("p", null, t("log.empty.text"))));
    /** @type {{key: string, group: Operation[]}[]} */
    const days = [];
    for (const operation of operations.slice(0, shown)) {
      const key = day(operation.when);
      // Where a clock was wrong a day comes twice: the order stays.
      if (days.at(-1)?.key === key) days.at(-1)?.group.push(operation);
      else days.push({ key, group: [operation] });
    }
    const around = { operations, gone: goneChats(operations), deeds: deedsOf(operations), load: steady(load) };
    fill(
      list,
      ...days.map(({ key, group }) => h("section", null, h("h2", { class: "log-day" }, key), h("ol", { class: "log-list" }, ...group.map((operation) => item(operation, around))))),
      operations.length > shown ? button(t("log.more"), () => ((shown += SHOWN), draw(operations))) : null,
    );
  }

  await load();
  fill(place, h("div", { class: "page" }, h("div", { class: "page-head" }, h("div", null, h("h1", null, t("log.title")), h("p", { class: "quiet" }, t("log.text")))), list));
  keepFresh(load, signal);
}

/**
 * The chats that are not there to be looked at: what was last done to them was to delete them.
 * @param {Operation[]} operations newest first
 * @returns {Set<string>}
 */
function goneChats(operations) {
  /** @type {Map<string, string>} */
  const last = new Map();
  for (const { undone, chat, kind } of operations) {
    if (!undone && COMES_OR_GOES.includes(kind) && !last.has(chat)) last.set(chat, kind);
  }
  return new Set([...last].filter(([, kind]) => kind === "delete").map(([chat]) => chat));
}

/**
 * What every operation did: to undo an undo is to do it again.
 * @param {Operation[]} operations newest first
 * @returns {Map<string, Deed>}
 */
function deedsOf(operations) {
  /** @type {Map<string, Deed>} */
  const deeds = new Map();
  for (const operation of [...operations].reverse()) {
    if (operation.kind === "undo") {
      const undone = deeds.get(operation.undoes ?? "");
      deeds.set(operation.id, { does: undone?.does === "undid" ? "again" : "undid", first: undone?.first ?? null });
    } else deeds.set(operation.id, { does: "did", first: operation });
  }
  return deeds;
}

/**
 * @param {Operation} operation
 * @param {Map<string, Deed>} deeds
 * @returns {string}
 */
function operationWords(operation, deeds) {
  const { does, first } = deeds.get(operation.id) ?? { does: null, first: null };
  const { kind } = (does && first) || operation;
  const what = known(`operation.${kind}`) ? t(`operation.${kind}`) : kind;
  if (does === "undid") return first ? t("log.taken_back", { what }) : t("undo.done");
  if (does === "again") return first ? t("log.again", { what }) : t("undo.redone");
  return what;
}

/**
 * @param {Operation} operation
 * @param {{operations: Operation[], gone: Set<string>, deeds: Map<string, Deed>, load: () => Promise<void>}} around
 * @returns {HTMLElement}
 */
function item(operation, { operations, gone, deeds, load }) {
  const word = operationWords(operation, deeds);
  const again = operation.kind === "undo" && deeds.get(operation.id)?.does !== "again"; // to undo an undo is to do it again
  const reason = h("div", { class: "log-reason", role: "alert" });
  const act = button(t(again ? "log.redo" : "undo"), () => void takeBack(), { icon: again ? "restore" : "undo", class: "small" });
  act.setAttribute("aria-label", t(again ? "log.redo.what" : "log.undo", { what: `${word} ${operation.chat}` }));

  async function takeBack() {
    fill(reason);
    const why = (/** @type {import("../api.js").Problem | null} */ problem) => problem && fill(reason, ...refusal(problem, operation, operations, deeds));
    if (await undo(operation.id, { why, done: t(again ? "undo.redone" : "undo.done") })) await load();
  }

  const called = chatName(operation.chat);
  // What was undone or deleted is not there to be looked at.
  const leads = operation.chat && !operation.undone && !["undo", "delete"].includes(operation.kind) && !gone.has(operation.chat);
  return h(
    "li",
    { class: `log-item ${operation.undone ? "undone" : ""}`.trim(), data: { operation: operation.id } },
    icon(deeds.get(operation.id)?.does === "again" ? "restore" : (ICONS.get(operation.kind) ?? "clock")),
    h(
      "div",
      { class: "log-words" },
      h("p", null, h("strong", null, word), " ", leads ? h("a", { href: link("timeline", operation.chat) }, called) : called),
      h("p", { class: "quiet" }, operation.number === null ? "" : `#${operation.number} · `, h("time", { datetime: operation.when, title: moment(operation.when) }, clock(operation.when)), operation.undone ? ` · ${t(again ? "log.redone" : "log.undone")}` : ""),
      reason,
    ),
    operation.undone ? null : act,
  );
}

/**
 * Why an operation cannot be undone now, and the way to what has to be undone first.
 * @param {import("../api.js").Problem} problem
 * @param {Operation} operation
 * @param {Operation[]} operations
 * @param {Map<string, Deed>} deeds
 * @returns {(HTMLElement | null)[]}
 */
function refusal(problem, operation, operations, deeds) {
  const later = operations.find((each) => each.id === problem.params?.["operation"] && each.id !== operation.id);
  if (later && later.number !== null) problem.params = { ...problem.params, operation: `#${later.number}` }; // as it stands here
  const { title, action } = problemWords(problem);
  return [
    h("p", { class: "log-refused", dir: "auto" }, icon("warning"), " ", title),
    later
      ? h("p", null, button(t("log.first", { what: `${operationWords(later, deeds)} ${chatTitle(later.chat)}` }), () => showStep(later.id), { class: "small", icon: "undo" }))
      : actionPart(action),
  ];
}

/** @param {string} operation */
function showStep(operation) {
  const step = document.querySelector(`[data-operation="${CSS.escape(operation)}"]`);
  const act = step?.querySelector(":scope > button");
  step?.scrollIntoView({ block: "center" });
  if (act instanceof HTMLElement) act.focus({ preventScroll: true });
}
