/**
 * What is known about a timeline: recap, scenes, findings, queue, details.
 * @module
 */
import { look, problemOf } from "./api.js";
import { fill, freshId, h, name, whenQuiet } from "./dom.js";
import { findingsPart } from "./findings.js";
import { moment, timelineName } from "./format.js";
import { icon } from "./icons.js";
import { problemWords, told } from "./notices.js";
import { button, codeWords, factList, more, timelineLink, waiting } from "./parts.js";
import { queuePart } from "./queue.js";
import { sceneRecap } from "./scene_recap.js";
import { number, t } from "./strings.js";

/** @typedef {import("./types.js").Timeline} Timeline */
/** @typedef {import("./types.js").Recap} Recap */
/** @typedef {import("./types.js").Verified} Verified */
/** @typedef {{jump: (message: number) => void, fork: () => void, changed: () => void, signal: AbortSignal}} Around */

export const TABS = [
  { id: "health", icon: "shield" },
  { id: "recap", icon: "list" },
  { id: "scenes", icon: "scene" },
  { id: "queue", icon: "queue" },
  { id: "details", icon: "question" },
];

/**
 * @param {string} chat
 * @param {Around} around
 */
export function createPanel(chat, around) {
  const { signal } = around;
  const body = h("div", { class: "panel-body", role: "tabpanel", id: freshId("panel"), tabindex: 0 });
  /** @type {import("./types.js").Lane | null} */
  let lane = null;
  let shown = "";
  let at = 0;
  let turn = 0;

  const tabs = TABS.map((tab) =>
    h(
      "button",
      { type: "button", role: "tab", id: freshId(`tab-${tab.id}`), aria: { selected: false, controls: body.id }, tabindex: -1, data: { tab: tab.id }, on: { click: () => show(tab.id) } },
      icon(tab.icon),
      h("span", null, t(`tab.${tab.id}`)),
    ),
  );
  const list = h("div", { class: "tabs", role: "tablist", aria: { label: t("timeline.about") } }, ...tabs);
  list.addEventListener("keydown", (event) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    const next = tabs[(tabs.findIndex((tab) => tab.dataset["tab"] === shown) + by + tabs.length) % tabs.length];
    event.preventDefault();
    next?.focus();
    next?.click();
  });

  /** @type {Record<string, () => Promise<HTMLElement>>} */
  const makers = {
    health: async () => findingsPart(await look("verify", { chat }, { signal }), lane, around.changed),
    recap: async () => recapPart(await look("recap", { chat, at }, { signal })),
    scenes: async () => scenesPart(await look("show", { chat }, { signal }), around.jump),
    queue: async () => queuePart(await look("queue", { chat }, { signal }), () => void refresh()),
    details: async () => {
      const [timeline, status] = await Promise.all([look("show", { chat }, { signal }), look("status", { chat }, { signal })]);
      return detailsPart(timeline, status, around.jump);
    },
  };

  async function refresh() {
    const make = makers[shown];
    if (!make) return;
    turn += 1;
    const mine = turn;
    try {
      const part = await make();
      if (mine === turn) fill(body, part);
    } catch (error) {
      const problem = problemOf(error);
      if (!problem || mine !== turn) return;
      const { title, action } = problemWords(problem);
      fill(body, h("div", { class: "panel-problem", role: "alert" }, icon("warning"), h("p", null, h("strong", null, title)), h("p", null, action)));
    }
  }

  /** @param {string} tab */
  function show(tab) {
    if (tab !== shown) {
      shown = tab;
      fill(body, waiting());
      for (const each of tabs) {
        const chosen = each.dataset["tab"] === tab;
        each.setAttribute("aria-selected", String(chosen));
        each.tabIndex = chosen ? 0 : -1;
        if (chosen) body.setAttribute("aria-labelledby", each.id);
      }
    }
    void refresh();
  }

  const recapSoon = whenQuiet(() => void refresh(), 120, signal);
  return {
    element: h("div", { class: "panel" }, list, body),
    show,
    refresh,
    /** @param {import("./types.js").Lane | null} known what the tree says of the timeline */
    setLane(known) {
      const same = lane?.health === known?.health && lane?.reason === known?.reason;
      lane = known;
      if (!same && shown === "health") void refresh();
    },
    /**
     * @param {number} message
     * @param {boolean} tell whether to turn to it
     */
    recapAt(message, tell) {
      at = message;
      if (tell && shown !== "recap") show("recap");
      else if (shown === "recap") recapSoon();
    },
  };
}

/** @param {Recap} recap @returns {HTMLElement} */
function recapPart(recap) {
  const { running, combined, scene } = recap;
  return h(
    "div",
    { class: "recap" },
    h("h2", null, t("recap.title", { number: recap.at })),
    !running && !combined && !scene ? h("p", { class: "quiet" }, t("recap.none")) : null,
    running
      ? h("section", null, h("h3", null, t("recap.running")), h("p", { class: "quiet" }, t("recap.running.version", { version: running.version }), " · ", t("count.scenes", { count: running.scenes })), h("div", { class: "recap-text", dir: "auto" }, running.text))
      : null,
    scene && scene.text
      ? h("section", null, h("h3", null, t("recap.scene")), h("p", { class: "quiet" }, name(scene.name || t("scene.unnamed")), ` · #${number(scene.message)}`), h("div", { class: "recap-text", dir: "auto" }, ...sceneRecap(scene.text)))
      : null,
    combined ? h("section", null, h("h3", null, t("recap.combined")), h("div", { class: "recap-text", dir: "auto" }, combined)) : null,
  );
}

/**
 * @param {Timeline} timeline
 * @param {(message: number) => void} jump
 * @returns {HTMLElement}
 */
function scenesPart(timeline, jump) {
  const scenes = timeline.scene_breaks;
  return h(
    "div",
    null,
    h("h2", null, t("scenes.title")),
    scenes.length ? null : h("p", { class: "quiet" }, t("scenes.none")),
    h(
      "ol",
      { class: "scene-list" },
      ...scenes.map((scene) =>
        h(
          "li",
          null,
          h(
            "button",
            { type: "button", class: `scene-jump ${scene.ready ? "scene-ready" : "scene-open"}`, on: { click: () => jump(scene.message) } },
            h("span", { class: "message-number" }, `#${number(scene.message)}`),
            h("span", { class: "scene-name" }, name(scene.name || t("scene.unnamed"))),
            h("span", { class: "scene-state" }, scene.ready ? t("scene.ready") : scene.codes.map(codeWords).join(", ")),
          ),
        ),
      ),
    ),
  );
}

/**
 * @param {Timeline} timeline
 * @param {Record<string, unknown>} status
 * @param {(message: number) => void} jump
 * @returns {HTMLElement}
 */
function detailsPart(timeline, status, jump) {
  const versions = timeline.running_recap.versions;
  const json = JSON.stringify(status, null, 2);
  return h(
    "div",
    null,
    h("h2", null, t("details.title")),
    factList([
      [t("details.kind"), t(`kind.${timeline.kind}`)],
      [t("details.parent"), timeline.parent ? timelineLink(timeline.parent, timelineName(timeline.parent, null), timeline.at ?? undefined) : null],
      [t("details.at"), timeline.at === null ? null : `#${number(timeline.at)}`],
      [t("details.messages"), number(timeline.messages)],
      [t("word.lorebook"), timeline.lorebook ? name(timeline.lorebook) : t("lane.no_book")],
      [t("details.entries"), timeline.entries === null ? null : number(timeline.entries)],
      [t("details.record"), t(`record.${timeline.record}`)],
      [t("recap.running"), timeline.running_recap.current_version === null ? null : t("recap.running.version", { version: timeline.running_recap.current_version })],
    ]),
    timeline.children.length
      ? h("section", null, h("h3", null, t("details.children")), h("ul", { class: "plain" }, ...timeline.children.map((child) => h("li", null, timelineLink(child, timelineName(child, timeline.chat))))))
      : null,
    versions.length
      ? h(
          "section",
          null,
          h("h3", null, t("details.versions")),
          h(
            "ul",
            { class: "plain" },
            ...versions.map((each) =>
              h(
                "li",
                null,
                t("recap.running.version", { version: each.version }),
                each.scene_count === null ? "" : ` · ${t("count.scenes", { count: each.scene_count })}`,
                each.new_scene_index === null ? null : h("span", null, " · ", h("button", { type: "button", class: "link-button", on: { click: () => jump(each.new_scene_index ?? 0) } }, `#${number(each.new_scene_index)}`)),
                each.timestamp === null ? null : h("span", { class: "quiet" }, ` · ${moment(each.timestamp)}`),
              ),
            ),
          ),
        )
      : null,
    more(
      t("details.status"),
      h("pre", { class: "json", tabindex: 0, aria: { label: t("details.status") } }, json),
      button(t("copy"), () => void copy(json), { class: "small" }),
    ),
  );
}

/**
 * Copies text; plain http on a home network has no clipboard, and then the text above can be selected.
 * @param {string} text
 */
async function copy(text) {
  await navigator.clipboard?.writeText(text);
  told(t("copied"));
}
