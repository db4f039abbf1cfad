/**
 * Every operation, newest first, each with its undo.
 * @module
 */
import { look } from "../api.js";
import { fill, h, name } from "../dom.js";
import { clock, day, moment, parts } from "../format.js";
import { icon } from "../icons.js";
import { button, emptiness } from "../parts.js";
import { keepFresh } from "../refresh.js";
import { link } from "../router.js";
import { known, t } from "../strings.js";
import { undo } from "../undo.js";

/** @typedef {import("../types.js").Operation} Operation */

/** @type {Record<string, string>} */
const ICONS = { checkpoint: "bookmark", branch: "branch", isolate: "shield", share: "book", delete: "trash", cleanup: "trash", restore: "restore", undo: "undo", repair: "check", cancel: "close" };
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
    /** @type {Map<string, Operation[]>} */
    const days = new Map();
    for (const operation of operations.slice(0, shown)) {
      const key = day(operation.when);
      const group = days.get(key);
      if (group) group.push(operation);
      else days.set(key, [operation]);
    }
    fill(
      list,
      ...[...days].map(([key, group]) => h("section", null, h("h2", { class: "log-day" }, key), h("ol", { class: "log-list" }, ...group.map((operation) => item(operation, load))))),
      operations.length > shown ? button(t("log.more"), () => ((shown += SHOWN), draw(operations))) : null,
    );
  }

  await load();
  fill(place, h("div", { class: "page" }, h("div", { class: "page-head" }, h("div", null, h("h1", null, t("log.title")), h("p", { class: "quiet" }, t("log.text")))), list));
  keepFresh(load, signal);
}

/**
 * @param {Operation} operation
 * @param {() => Promise<void>} load
 * @returns {HTMLElement}
 */
function item(operation, load) {
  const word = known(`operation.${operation.kind}`) ? t(`operation.${operation.kind}`) : operation.kind;
  const act = button(t("undo"), () => void undo(operation.id, () => void load()), { icon: "undo", class: "small" });
  act.setAttribute("aria-label", t("log.undo", { what: `${word} ${operation.chat}` }));
  const called = name(parts(operation.chat).name);
  // What was undone or deleted is not there to be looked at.
  const leads = operation.chat && !operation.undone && !["undo", "delete"].includes(operation.kind);
  return h(
    "li",
    { class: `log-item ${operation.undone ? "undone" : ""}`.trim(), data: { operation: operation.id } },
    icon(ICONS[operation.kind] ?? "clock"),
    h(
      "div",
      { class: "log-words" },
      h("p", null, h("strong", null, word), " ", leads ? h("a", { href: link("timeline", operation.chat), title: operation.chat }, called) : called),
      h("p", { class: "quiet" }, h("time", { datetime: operation.when, title: moment(operation.when) }, clock(operation.when)), operation.undone ? ` · ${t("log.undone")}` : ""),
    ),
    operation.undone || operation.kind === "undo" ? null : act,
  );
}
