/**
 * All stories, with a search that answers while one types.
 * @module
 */
import { fill, h, name, spoken } from "../dom.js";
import { ago, hue, moment, storyName, timelineName } from "../format.js";
import { icon } from "../icons.js";
import { button, emptiness, healthBadge, openBadge } from "../parts.js";
import { keepFresh } from "../refresh.js";
import { link } from "../router.js";
import { onOpenChat, openChat, readOverview } from "../state.js";
import { t } from "../strings.js";

/** @typedef {import("../types.js").StoryShown} StoryShown */
/** @typedef {import("../types.js").Overview} Overview */

const WELCOMED = "forklore.welcomed";
let searched = "";

/**
 * @param {HTMLElement} place
 * @param {string[]} _
 * @param {AbortSignal} signal
 */
export async function showStories(place, _, signal) {
  let overview = await readOverview(signal);
  const list = h("ul", { class: "shelf", aria: { label: t("stories.title") } });
  const count = h("p", { class: "quiet", role: "status" });
  const open = h("div", { class: "open-place" });
  const search = h("input", {
    type: "search",
    class: "search",
    value: searched,
    placeholder: t("stories.search"),
    aria: { label: t("stories.search") },
    on: { input: () => ((searched = search.value), sift()) },
  });
  /** @type {{item: HTMLElement, text: string}[]} */
  let items = [];

  function draw() {
    items = overview.stories.map((story) => ({ item: storyItem(story), text: searchText(story) }));
    if (overview.stories.length) fill(list, ...items.map((each) => each.item));
    else fill(list, h("li", { class: "shelf-empty" }, noStories(overview.workspace)));
    drawOpen();
    sift();
  }

  function sift() {
    const words = search.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { item, text } of items) {
      const fits = words.every((word) => text.includes(word));
      item.hidden = !fits;
      if (fits) shown += 1;
    }
    count.textContent = words.length && !shown ? t("stories.none", { text: search.value }) : t("stories.count", { count: shown });
  }

  function drawOpen() {
    const chat = openChat();
    fill(open, chat ? openStrip(chat) : null);
  }

  fill(
    place,
    h(
      "div",
      { class: "page" },
      h(
        "div",
        { class: "page-head" },
        h("div", null, h("h1", null, t("stories.title")), h("p", { class: "quiet path" }, name(overview.workspace))),
        h("div", { class: "search-place" }, icon("search"), search),
      ),
      localStorage.getItem(WELCOMED) ? null : welcome(),
      open,
      count,
      list,
    ),
  );
  draw();
  onOpenChat(drawOpen, signal);
  keepFresh(async () => {
    overview = await readOverview(signal);
    draw();
  }, signal);
}

/** @param {StoryShown} story @returns {string} */
function searchText(story) {
  const { title, note } = storyName(story.main);
  return `${title} ${note} ${story.name} ${story.folder}`.toLocaleLowerCase();
}

/** @param {StoryShown} story @returns {HTMLElement} */
function storyItem(story) {
  const { title, note } = storyName(story.main);
  const spine = h("span", { class: "spine", aria: { hidden: true } });
  spine.style.setProperty("--hue", String(hue(story.folder)));
  return h(
    "li",
    null,
    h(
      "a",
      { class: "story", href: link("story", story.main) },
      spine,
      h("span", { class: "story-words" }, h("span", { class: "story-title" }, name(title)), h("span", { class: "story-note" }, name(note))),
      h(
        "span",
        { class: "story-facts" },
        h("span", null, t("count.timelines", { count: story.timelines })),
        h("span", null, t("count.messages", { count: story.messages })),
        h("span", { title: story.active ? moment(story.active) : "" }, spoken(t("stories.active")), ago(story.active)),
      ),
      h(
        "span",
        { class: "story-badges" },
        openChat() === story.main ? openBadge() : null,
        story.health === "isolated" ? null : healthBadge(story.health, story.reason),
      ),
    ),
  );
}

/** @param {string} chat @returns {HTMLElement} */
function openStrip(chat) {
  return h(
    "p",
    { class: "strip" },
    icon("open"),
    h("span", null, t("open.now"), " ", h("a", { href: link("timeline", chat) }, name(timelineName(chat, null)))),
  );
}

/** @returns {HTMLElement} */
function welcome() {
  const card = h(
    "section",
    { class: "card welcome", aria: { label: t("welcome.title") } },
    h("h2", null, t("welcome.title")),
    h("p", null, t("welcome.text")),
    h("ol", { class: "welcome-steps" }, ...["1", "2", "3"].map((step) => h("li", null, t(`welcome.step.${step}`)))),
    button(t("welcome.done"), () => {
      localStorage.setItem(WELCOMED, "1");
      card.remove();
    }),
  );
  return card;
}

/** @param {string} workspace @returns {HTMLElement} */
function noStories(workspace) {
  return emptiness("book", t("stories.empty"), h("p", null, t("stories.empty.text")), h("p", { class: "quiet path" }, name(workspace)));
}
