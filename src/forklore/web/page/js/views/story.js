/**
 * One story as a tree: its timelines as lanes that leave their parent where they were made.
 * @module
 */
import { look } from "../api.js";
import { openForkDialog } from "../dialogs/fork.js";
import { openIsolateAllDialog } from "../dialogs/isolate_all.js";
import { fill, h, longName, name, spoken, svg } from "../dom.js";
import { storyName, timelineName } from "../format.js";
import { icon } from "../icons.js";
import { drawLanes, drawingWidth, lineage } from "../lanes.js";
import { button, callout, healthBadge, iconButton, kindIcon, openBadge, trail } from "../parts.js";
import { keepFresh } from "../refresh.js";
import { link } from "../router.js";
import { onOpenChat, openChat } from "../state.js";
import { t } from "../strings.js";

/** @typedef {import("../types.js").Layout} Layout */
/** @typedef {import("../types.js").Lane} Lane */

const FILTER_FROM = 12;
const HALF_ROW = 28;

/**
 * @param {HTMLElement} place
 * @param {string[]} args the address of a chat of the story
 * @param {AbortSignal} signal
 */
export async function showStory(place, args, signal) {
  const chat = args[0] ?? "";
  /** @type {Layout} */
  let layout = await look("layout", { chat }, { signal });
  const top = h("div", { class: "story-top" });
  const tree = h("div", { class: "tree" });
  fill(place, h("div", { class: "page page-wide" }, top, tree));

  let drawn = new AbortController();
  signal.addEventListener("abort", () => drawn.abort());

  function draw() {
    drawn.abort();
    drawn = new AbortController();
    drawTop(top, layout);
    drawTree(tree, layout, drawn.signal);
  }
  draw();
  onOpenChat(draw, signal);
  keepFresh(async () => {
    layout = await look("layout", { chat }, { signal });
    draw();
  }, signal);
}

/**
 * @param {HTMLElement} top
 * @param {Layout} layout
 */
function drawTop(top, layout) {
  const { title, note } = storyName(layout.main);
  const open = openChat();
  const target = layout.lanes.find((lane) => lane.chat === open) ?? layout.lanes.find((lane) => lane.chat === layout.main);
  const leaks = layout.lanes.filter((lane) => lane.health === "leaks");
  fill(
    top,
    trail([{ text: t("stories.title"), href: link("stories") }]),
    h(
      "div",
      { class: "page-head" },
      h(
        "div",
        null,
        h("h1", null, name(title)),
        h(
          "p",
          { class: "quiet" },
          name(note),
          ` · ${t("count.timelines", { count: layout.lanes.length })}`,
        ),
      ),
      target
        ? h(
            "div",
            { class: "head-actions" },
            h("a", { class: "button", href: link("timeline", target.chat) }, icon("book"), h("span", null, t("story.read"))),
            button(t("fork.make.checkpoint"), () => openForkDialog({ chat: target.chat, kind: "checkpoint" }), { icon: "bookmark", class: "primary" }),
          )
        : null,
    ),
    leaks.length ? leakCallout(leaks) : null,
  );
}

/**
 * @param {Lane[]} leaks
 * @returns {HTMLElement}
 */
function leakCallout(leaks) {
  const chat = leaks[0]?.chat ?? "";
  const isolateAll = button(t("isolate.all.button"), () => openIsolateAllDialog(chat), { class: "small", icon: "shield" });
  const report = h("a", { href: link("contamination", chat) }, t("contamination.title"));
  return callout("leak", t("story.leaks", { count: leaks.length }), t("story.leaks.text"), { bad: true }, isolateAll, " ", report);
}

/**
 * @param {HTMLElement} tree
 * @param {Layout} layout
 * @param {AbortSignal} signal
 */
function drawTree(tree, layout, signal) {
  const drawing = svg("svg", { class: "lanes", "aria-hidden": "true", focusable: "false" });
  const rows = layout.lanes.map((lane) => laneRow(lane));
  const list = h("ol", { class: "lane-rows", aria: { label: t("story.tree") } }, ...rows);
  const filter = h("input", {
    type: "search",
    class: "search",
    placeholder: t("story.filter"),
    aria: { label: t("story.filter") },
    on: { input: () => (sift(), paint()) },
  });
  const body = h("div", { class: "tree-body" }, drawing, list);
  const kept = /** @type {HTMLInputElement | null} */ (tree.querySelector("input.search"))?.value ?? "";
  filter.value = kept;
  fill(tree, layout.lanes.length >= FILTER_FROM ? h("div", { class: "search-place tree-search" }, icon("search"), filter) : null, legend(), body);

  function sift() {
    const words = filter.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    for (const [index, lane] of layout.lanes.entries()) {
      const text = `${lane.name} ${timelineName(lane.chat, lane.parent)} ${lane.lorebook ?? ""} ${t(`kind.${lane.kind}`)} ${t(`health.${lane.health}`)}`.toLocaleLowerCase();
      const row = rows[index];
      if (row) row.hidden = !words.every((word) => text.includes(word));
    }
  }

  let painted = "";

  function paint() {
    const width = drawingWidth(layout.columns.length, tree.clientWidth);
    body.style.setProperty("--drawing", `${width}px`);
    const height = list.offsetHeight;
    if (painted === `${width} ${height}`) return; // the watcher also calls when nothing has changed yet
    painted = `${width} ${height}`;
    /** @type {(number | null)[]} */
    const middles = [];
    for (const [index, lane] of layout.lanes.entries()) {
      const row = rows[index];
      middles[lane.row] = row && !row.hidden ? row.offsetTop + Math.min(row.offsetHeight / 2, HALF_ROW) : null;
    }
    drawLanes(drawing, layout, middles, { width, height }, openChat());
  }

  /** @param {number | null} row */
  function follow(row) {
    const rowsOfPath = row === null ? null : lineage(layout, row);
    drawing.classList.toggle("following", rowsOfPath !== null);
    for (const shape of drawing.children) {
      shape.classList.toggle("on-path", rowsOfPath?.has(Number(/** @type {SVGElement} */ (shape).dataset["row"])) ?? false);
    }
  }

  /** @param {Event} event @returns {number | null} */
  function rowOf(event) {
    const row = event.target instanceof Element ? /** @type {HTMLElement | null} */ (event.target.closest(".lane-row")) : null;
    return row ? Number(row.dataset["row"]) : null;
  }
  list.addEventListener("pointerover", (event) => follow(rowOf(event)));
  list.addEventListener("pointerleave", () => follow(null));
  list.addEventListener("focusin", (event) => follow(rowOf(event)));
  list.addEventListener("focusout", () => follow(null));
  list.addEventListener("keydown", (event) => step(event, list));

  sift();
  paint();
  const watcher = new ResizeObserver(paint);
  watcher.observe(list);
  watcher.observe(tree);
  signal.addEventListener("abort", () => watcher.disconnect());
}

/**
 * Arrow keys go from timeline to timeline.
 * @param {KeyboardEvent} event
 * @param {HTMLElement} list
 */
function step(event, list) {
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (!by || !(event.target instanceof Element)) return;
  const links = [...list.querySelectorAll("li:not([hidden]) .lane-name a")];
  const row = event.target.closest("li");
  const next = links[links.findIndex((each) => row?.contains(each)) + by];
  if (!(next instanceof HTMLElement)) return;
  event.preventDefault();
  next.focus();
}

/** @returns {HTMLElement} */
function legend() {
  const kinds = /** @type {const} */ (["main", "checkpoint", "branch"]);
  return h(
    "p",
    { class: "legend quiet" },
    ...kinds.map((kind) => h("span", { class: `kind-${kind}` }, kindIcon(kind), t(`kind.${kind}`))),
    h("span", null, h("span", { class: "run-sign", aria: { hidden: true } }, "12"), t("story.run")),
  );
}

/** @param {Lane} lane @returns {HTMLElement} */
function laneRow(lane) {
  const shown = timelineName(lane.chat, lane.parent);
  return h(
    "li",
    { class: `lane-row kind-${lane.kind}`, data: { row: lane.row, chat: lane.chat } },
    h(
      "div",
      { class: "lane-line" },
      h(
        "div",
        { class: "lane-words" },
        h(
          "p",
          { class: "lane-name" },
          kindIcon(lane.kind),
          spoken(`${t(`kind.${lane.kind}`)}: `),
          h("a", { href: link("timeline", lane.chat), title: lane.name }, name(shown)),
          openChat() === lane.chat ? openBadge() : null,
        ),
        h(
          "p",
          { class: "lane-facts" },
          lane.at === null ? null : h("span", null, t("lane.at", { at: lane.at })),
          h("span", null, t("count.messages", { count: lane.messages })),
          lane.running_version === null ? null : h("span", null, t("lane.recap", { version: lane.running_version })),
          lane.lorebook ? h("span", { class: "lane-book" }, icon("book"), spoken(`${t("word.lorebook")}: `), longName(lane.lorebook)) : h("span", null, t("lane.no_book")),
        ),
      ),
      h("span", { class: "lane-health" }, lane.health === "isolated" ? healthBadge(lane.health, lane.reason) : h("a", { class: "badge-button", href: link("timeline", lane.chat, "health") }, healthBadge(lane.health, lane.reason))),
      h(
        "span",
        { class: "lane-actions" },
        iconButton(t("fork.make.checkpoint.of", { name: shown }), "bookmark", () => openForkDialog({ chat: lane.chat, kind: "checkpoint" }), "tone-checkpoint"),
        iconButton(t("fork.make.branch.of", { name: shown }), "branch", () => openForkDialog({ chat: lane.chat, kind: "branch" }), "tone-branch"),
      ),
    ),
  );
}
