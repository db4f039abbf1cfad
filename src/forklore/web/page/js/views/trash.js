/**
 * The trash, and what nobody uses any more.
 * @module
 */
import { change, look, problemOf } from "../api.js";
import { ask } from "../dialog.js";
import { fill, freshId, h, name } from "../dom.js";
import { dated, moment, size } from "../format.js";
import { icon } from "../icons.js";
import { halfDone, refused, told } from "../notices.js";
import { button, emptiness, more, waiting } from "../parts.js";
import { keepFresh, steady } from "../refresh.js";
import { factWords, t } from "../strings.js";
import { undoAction } from "../undo.js";

/** @typedef {import("../types.js").TrashItem} TrashItem */
/** @typedef {import("../types.js").Cleanup} Cleanup */
/** @typedef {{chat: TrashItem | null, books: TrashItem[], others: TrashItem[]}} Thing what went to the trash as one */

const A_MONTH = 30;
const DAY = 86_400_000;

/**
 * @param {HTMLElement} place
 * @param {string[]} _
 * @param {AbortSignal} signal
 */
export async function showTrash(place, _, signal) {
  const items = h("div", { class: "trash" });
  const leftovers = h("div", { class: "leftovers" });
  const days = h("input", { type: "number", min: 0, value: A_MONTH, id: freshId("days"), inputmode: "numeric" });
  const empty = h("div", { class: "trash-empty" }, h("label", { for: days.id }, t("trash.older")), days, h("span", null, t("trash.days")), button(t("trash.empty.do"), () => void emptyTrash(), { class: "danger", icon: "trash" }));
  /** @type {TrashItem[]} */
  let list = [];

  async function load() {
    list = (await look("trash", {}, { signal })).items;
    empty.hidden = !list.length;
    if (!list.length) fill(items, emptiness("trash", t("trash.nothing"), h("p", null, t("trash.nothing.text"))));
    else fill(items, h("ul", { class: "rows" }, ...things(list).map((thing) => row(thing))));
  }

  async function emptyTrash() {
    const older = Math.max(0, Number(days.value) || 0);
    const gone = list.filter((item) => Date.now() - new Date(item.when).getTime() >= older * DAY);
    if (!gone.length) return told(t("trash.none_so_old"));
    const bytes = gone.reduce((sum, item) => sum + item.size, 0);
    const sure = await ask({
      title: t("trash.empty.title"),
      body: [h("p", null, t("trash.empty.count", { count: gone.length, size: size(bytes) })), h("p", null, h("strong", null, t("trash.empty.text")))],
      action: t("trash.empty.do"),
      danger: true,
      understood: t("trash.empty.understood"),
    });
    if (!sure) return;
    try {
      const { items: deleted } = await change("trash", { empty: true, older_than: older, yes: true });
      told(t("trash.emptied", { count: deleted.length }));
      await load();
    } catch (error) {
      refused(problemOf(error));
    }
  }

  /** @param {Thing} thing @returns {HTMLElement} */
  function row(thing) {
    const files = filesOf(thing);
    const first = /** @type {TrashItem} */ (files[0]);
    const called = fileName(first.path ?? first.item);
    const kind = thing.chat ? (thing.books.length ? "timeline" : "chat") : thing.books.length ? "book" : "file";
    const act = button(t("trash.restore"), () => void restore(first), { icon: "restore", class: "small" });
    act.setAttribute("aria-label", t("trash.restore.of", { name: called }));
    return h(
      "li",
      { class: "row", data: { item: first.item } },
      icon(kind === "timeline" ? "main" : kind === "book" ? "book" : "list"),
      h(
        "div",
        { class: "row-words" },
        h("p", null, name(called, "name strong")),
        h("p", { class: "quiet" }, t(`trash.kind.${kind}`), ` · ${size(files.reduce((sum, file) => sum + file.size, 0))} · `, h("time", { datetime: first.when }, moment(first.when))),
        more(t("trash.files", { count: files.length }), h("ul", { class: "plain" }, ...files.map((file) => h("li", { class: "path" }, name(file.path ?? `${file.item} (${t("trash.unknown")})`))))),
      ),
      first.path === null ? null : act,
    );
  }

  /** @param {TrashItem} item */
  async function restore(item) {
    const before = list.filter(isBook);
    try {
      const restored = await change("restore", { item: item.item });
      await steady(load)();
      const also = before.filter((book) => book.item !== item.item && !list.some((each) => each.item === book.item));
      if (restored.pending_facts.length) halfDone(restored.pending_facts, [undoAction(restored.operation)]);
      else told(t("trash.restored", { name: fileName(restored.path) }), also.length ? t("trash.restored.also") : "", [undoAction(restored.operation)]);
    } catch (error) {
      refused(problemOf(error));
    }
  }

  async function lookForLeftovers() {
    fill(leftovers, waiting());
    try {
      /** @type {Cleanup} */
      const found = await look("cleanup", {}, { signal });
      drawLeftovers(found);
    } catch (error) {
      fill(leftovers);
      refused(problemOf(error));
    }
  }

  /** @param {Cleanup} found */
  function drawLeftovers(found) {
    const nothing = !found.books.length && !found.map_entries.length;
    fill(
      leftovers,
      nothing ? h("p", { role: "status" }, icon("check"), " ", t("cleanup.nothing")) : null,
      ...found.kept_facts.map((why) => h("p", { class: "quiet", dir: "auto" }, factWords(why))),
      found.books.length
        ? h("ul", { class: "rows" }, ...found.books.map((book) => h("li", { class: "row" }, icon("book"), h("div", { class: "row-words" }, h("p", null, name(book.name, "name strong")), h("p", { class: "quiet" }, `${size(book.size)} · ${t("count.days", { count: book.age_days })} · `, name(factWords({ code: "cloned_from", params: book.origin })))))))
        : null,
      found.map_entries.length ? h("p", null, t("cleanup.map", { count: found.map_entries.length })) : null,
      nothing ? null : button(t("cleanup.do"), () => void cleanUp(), { icon: "trash" }),
    );
  }

  async function cleanUp() {
    const sure = await ask({ title: t("cleanup.do"), body: [h("p", null, t("cleanup.ask"))], action: t("cleanup.do") });
    if (!sure) return;
    try {
      /** @type {Cleanup} */
      const done = await change("cleanup", { apply: true });
      told(t("cleanup.done"), "", done.operation ? [undoAction(done.operation)] : []);
      fill(leftovers);
      await load();
    } catch (error) {
      refused(problemOf(error));
    }
  }

  await load();
  fill(
    place,
    h(
      "div",
      { class: "page" },
      h("div", { class: "page-head" }, h("div", null, h("h1", null, t("trash.title")), h("p", { class: "quiet" }, t("trash.text")))),
      items,
      empty,
      h("section", { class: "card" }, h("h2", null, t("cleanup.title")), h("p", null, t("cleanup.text")), h("p", null, button(t("cleanup.look"), () => void lookForLeftovers(), { icon: "search" })), leftovers),
    ),
  );
  keepFresh(load, signal);
}

/** @param {TrashItem} item @returns {boolean} */
function isBook(item) {
  return item.path?.startsWith("worlds/") ?? false;
}

/**
 * What one operation removed: a chat and its lorebook are one timeline, everything else stands for itself.
 * @param {TrashItem[]} items
 * @returns {Thing[]}
 */
function things(items) {
  /** @type {Map<string, TrashItem[]>} */
  const removed = new Map();
  for (const item of items) {
    const key = item.operation ?? item.item;
    const together = removed.get(key);
    if (together) together.push(item);
    else removed.set(key, [item]);
  }
  return [...removed.values()].flatMap((together) => {
    const [chat, ...more] = together.filter((item) => item.path?.endsWith(".jsonl"));
    if (chat && !more.length) return [thing(chat, ...together.filter((item) => item !== chat))];
    return together.map((item) => thing(item));
  });
}

/**
 * @param {...TrashItem} items
 * @returns {Thing}
 */
function thing(...items) {
  return {
    chat: items.find((item) => item.path?.endsWith(".jsonl")) ?? null,
    books: items.filter(isBook),
    others: items.filter((item) => !isBook(item) && !item.path?.endsWith(".jsonl")),
  };
}

/** @param {Thing} thing @returns {TrashItem[]} the one that brings the others along first */
function filesOf(thing) {
  return [...(thing.chat ? [thing.chat] : []), ...thing.books, ...thing.others];
}

/** @param {string} path @returns {string} what a chat or a lorebook is called; a chat as people read it */
function fileName(path) {
  const file = path.split("/").pop() ?? path;
  return file.endsWith(".jsonl") ? dated(file.slice(0, -6)) : file.replace(/\.json$/, "");
}
