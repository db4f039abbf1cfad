/**
 * One timeline: its messages as far as they are in view, and beside them what is known about it.
 * @module
 */
import { look, problemOf } from "../api.js";
import { openDeleteDialog } from "../dialogs/delete.js";
import { openForkDialog } from "../dialogs/fork.js";
import { openIsolateDialog } from "../dialogs/isolate.js";
import { fill, h, name } from "../dom.js";
import { storyName, timelineName } from "../format.js";
import { icon } from "../icons.js";
import { messagePart } from "../message.js";
import { refused } from "../notices.js";
import { PAGE, Pages } from "../pages.js";
import { TABS, createPanel } from "../panel.js";
import { button, emptiness, healthBadge, iconButton, kindBadge, menu, openBadge, trail } from "../parts.js";
import { keepFresh } from "../refresh.js";
import { link } from "../router.js";
import { Scroller } from "../scroller.js";
import { createSheet } from "../sheet.js";
import { onOpenChat, openChat } from "../state.js";
import { number, t } from "../strings.js";

/** @typedef {import("../types.js").Layout} Layout */
/** @typedef {import("../types.js").Lane} Lane */
/** @typedef {import("../types.js").Page} Page */

const GUESSED_HEIGHT = 130;

/**
 * @param {HTMLElement} place
 * @param {string[]} args the address, and a message or the name of a tab
 * @param {AbortSignal} signal
 */
export async function showTimeline(place, args, signal) {
  const [chat = "", wanted = ""] = args;
  /** @type {Page} */
  const beginning = await look("messages", { chat, start: 0, count: 1 }, { signal });
  let total = beginning.total;
  /** @type {number | null} */
  let chosen = null;
  /** @type {string | null} */
  let parentOf = null;

  const top = h("div", { class: "timeline-top" });
  const feed = h("div", { class: "feed", role: "feed", tabindex: 0, aria: { label: t("timeline.messages") } });
  const panel = createPanel(chat, { jump, fork: () => forkAt(here()), changed: () => void refreshTop(), signal });
  const sheet = createSheet(panel.element, signal);

  const pages = new Pages(chat, {
    arrived(page) {
      if (page.total !== total) setTotal(page.total);
      scroller.redraw(page.start, page.start + PAGE);
    },
    failed: (problem) => (problem.status === 404 ? gone() : refused(problem)),
    signal,
  });
  const scroller = new Scroller(feed, {
    draw: (index) =>
      messagePart(index, total, pages.get(index), {
        chat,
        chosen,
        acts: { fork: (message) => forkAt(message.number), recap: (message) => choose(message.number, true) },
      }),
    seen: (first, last) => {
      pages.want(first, last);
      markHere();
    },
    estimate: GUESSED_HEIGHT,
    signal,
  });

  /** @returns {number | null} the message that “here” means: the chosen one as long as it is in view, else where one reads */
  function here() {
    if (!total) return null;
    if (chosen !== null && chosen < total && scroller.shows(chosen)) return chosen;
    return scroller.atEnd ? total - 1 : scroller.first;
  }

  function markHere() {
    const at = here();
    where.placeholder = at === null ? "" : number(at);
    for (const [kind, label] of Object.entries(forkLabels)) {
      label.textContent = at === null ? t(`fork.title.${kind}`) : t(`fork.make.${kind}.here`, { number: at });
    }
  }

  /** @param {number} count */
  function setTotal(count) {
    const stay = scroller.atEnd;
    total = count;
    of.textContent = t("timeline.of", { last: Math.max(total - 1, 0) });
    scroller.resize(total);
    if (stay) scroller.show(total - 1, "end");
    markHere();
  }

  /**
   * @param {number | null} at
   * @param {"checkpoint" | "branch"} [kind]
   */
  function forkAt(at, kind = "checkpoint") {
    openForkDialog({ chat, kind, ...(at === null ? {} : { at }) });
  }

  /**
   * @param {number} index
   * @param {boolean} tell whether the recap is to be shown
   */
  function choose(index, tell) {
    const before = chosen;
    chosen = index;
    if (before !== null) scroller.rowOf(before)?.classList.remove("chosen");
    scroller.rowOf(index)?.classList.add("chosen");
    panel.recapAt(index, tell);
    markHere();
    if (tell) sheet.open();
  }

  /** @param {number} index */
  function jump(index) {
    sheet.close();
    scroller.show(index, index >= total - 1 ? "end" : "center");
    choose(Math.max(0, Math.min(index, total - 1)), false);
  }

  const forkLabels = { checkpoint: h("span"), branch: h("span") };
  const where = h("input", { type: "number", min: 0, max: Math.max(total - 1, 0), inputmode: "numeric", class: "jump", aria: { label: t("timeline.jump") } });
  const of = h("span", { class: "quiet" });
  const toolbar = h(
    "form",
    {
      class: "timeline-bar",
      aria: { label: t("timeline.jump") },
      on: {
        submit: (/** @type {Event} */ event) => {
          event.preventDefault();
          if (where.value === "") return;
          jump(Number(where.value));
          where.value = ""; // from now on it shows again where one is
        },
      },
    },
    iconButton(t("timeline.first"), "start", () => jump(0)),
    h("span", { class: "jump-place" }, h("span", { aria: { hidden: true } }, "#"), where, of),
    iconButton(t("timeline.last"), "end", () => jump(total - 1)),
    h(
      "span",
      { class: "sheet-buttons" },
      ...TABS.map((tab) =>
        h("button", { type: "button", class: "icon-button", title: t(`tab.${tab.id}`), aria: { label: t(`tab.${tab.id}`) }, on: { click: () => (panel.show(tab.id), sheet.open()) } }, icon(tab.icon)),
      ),
    ),
  );

  const actions = menu(t("timeline.more"), signal);
  let shown = "";

  /** @param {Lane | null} lane @param {string | null} main */
  function drawTop(lane, main) {
    const shows = JSON.stringify([lane, main, openChat() === chat]);
    if (shows === shown) return; // what did not change keeps the focus
    shown = shows;
    actions.set(menuItems(lane));
    const parent = lane?.parent ?? null;
    const called = timelineName(chat, parent);
    document.title = `${called} · Forklore`;
    fill(
      top,
      trail([
        { text: t("stories.title"), href: link("stories") },
        ...(main ? [{ text: storyName(main).title, href: link("story", main) }] : []),
      ]),
      h(
        "div",
        { class: "timeline-head" },
        h(
          "div",
          { class: "timeline-title" },
          h("h1", { title: chat }, name(called)),
          h(
            "p",
            { class: "badges" },
            lane ? kindBadge(lane.kind) : null,
            lane ? h("button", { type: "button", class: "badge-button", on: { click: () => (panel.show("health"), sheet.open()) } }, healthBadge(lane.health, lane.reason)) : null,
            openChat() === chat ? openBadge() : null,
            parent && lane ? h("span", { class: "quiet" }, t("timeline.from"), " ", h("a", { href: lane.at === null ? link("timeline", parent) : link("timeline", parent, lane.at) }, name(timelineName(parent, null))), lane.at === null ? "" : ` ${t("timeline.from.at", { at: lane.at })}`) : null,
          ),
        ),
        h(
          "div",
          { class: "head-actions" },
          actions.element,
          h("button", { type: "button", class: "button primary", on: { click: () => forkAt(here()) } }, icon("bookmark"), forkLabels.checkpoint),
        ),
      ),
    );
  }

  /** @param {Lane | null} lane @returns {(HTMLElement | null)[]} */
  function menuItems(lane) {
    return [
      h("button", { type: "button", class: "button", on: { click: () => forkAt(here(), "branch") } }, icon("branch"), forkLabels.branch),
      button(t("timeline.verify"), () => (panel.show("health"), sheet.open()), { icon: "shield" }),
      lane && lane.kind !== "main" ? button(t("isolate.button"), () => openIsolateDialog(chat), { icon: "leak" }) : null,
      h("a", { class: "button", href: link("contamination", chat) }, icon("search"), h("span", null, t("contamination.title"))),
      lane?.parent ? h("a", { class: "button", href: link("timeline", lane.parent) }, icon("back"), h("span", null, t("timeline.parent"))) : null,
      h("a", { class: "button", href: link("story", chat) }, icon("main"), h("span", null, t("timeline.tree"))),
      button(t("delete.button"), () => void openDeleteDialog(chat), { icon: "trash", class: "danger-text" }),
    ];
  }

  /** It was undone, deleted or renamed while it was shown. */
  function gone() {
    sheet.close();
    document.title = `${t("timeline.gone")} · Forklore`;
    fill(
      place,
      h(
        "div",
        { class: "page" },
        h("h1", { class: "spoken" }, t("timeline.gone")),
        emptiness(
          "main",
          t("timeline.gone"),
          h("p", null, t("timeline.gone.text")),
          h("p", { class: "head-actions" }, h("a", { class: "button primary", href: parentOf ? link("story", parentOf) : link("stories") }, t(parentOf ? "timeline.tree" : "stories.title")), h("a", { class: "button", href: link("trash") }, t("trash.title"))),
        ),
      ),
    );
  }

  async function refreshTop() {
    try {
      /** @type {Layout} */
      const layout = await look("layout", { chat }, { signal });
      const lane = layout.lanes.find((each) => each.chat === chat) ?? null;
      parentOf = lane?.parent ?? null;
      drawTop(lane, layout.main);
      panel.setLane(lane);
    } catch (error) {
      const problem = problemOf(error);
      if (problem?.status !== 404) refused(problem);
    }
  }

  drawTop(null, null);
  fill(
    place,
    h("div", { class: "timeline" }, top, h("div", { class: "timeline-reading" }, toolbar, total ? feed : emptiness("book", t("timeline.empty"), h("p", null, t("timeline.empty.text")))), sheet.aside),
  );
  setTotal(total);
  feed.addEventListener("keydown", (event) => stepMessages(event, scroller, (index) => choose(index, false)));

  const tab = TABS.find((each) => each.id === wanted);
  const at = /^\d+$/.test(wanted) ? Number(wanted) : null;
  if (at !== null) jump(at);
  else if (total) {
    scroller.show(total - 1, "end");
    panel.recapAt(total - 1, false);
  }
  panel.show(tab?.id ?? "health");
  if (tab) sheet.open();

  void refreshTop();
  onOpenChat(() => void refreshTop(), signal);
  keepFresh(
    async () => {
      await Promise.all([pages.again(), refreshTop(), panel.refresh()]);
    },
    signal,
    (chats) => chats.includes(chat),
  );
}

/**
 * J and K go from message to message.
 * @param {KeyboardEvent} event
 * @param {Scroller} scroller
 * @param {(index: number) => void} choose
 */
function stepMessages(event, scroller, choose) {
  const by = event.key === "j" ? 1 : event.key === "k" ? -1 : 0;
  if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
  const row = event.target instanceof Element ? /** @type {HTMLElement | null} */ (event.target.closest(".message")) : null;
  const from = row ? Number(row.dataset["index"]) : scroller.first - (by > 0 ? 1 : 0);
  const index = Math.max(0, Math.min(from + by, scroller.count - 1));
  event.preventDefault();
  scroller.show(index, "center");
  scroller.rowOf(index)?.focus({ preventScroll: true });
  choose(index);
}
