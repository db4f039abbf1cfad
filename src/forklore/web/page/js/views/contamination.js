/**
 * Whose messages can have written each entry of a shared lorebook, and where isolating would put it.
 * @module
 */
import { look, problemOf } from "../api.js";
import { openIsolateDialog } from "../dialogs/isolate.js";
import { openIsolateAllDialog } from "../dialogs/isolate_all.js";
import { fill, h, name, spoken } from "../dom.js";
import { storyName, timelineName } from "../format.js";
import { icon } from "../icons.js";
import { refused } from "../notices.js";
import { button, emptiness, kindBadge, more, timelineLink, trail } from "../parts.js";
import { keepFresh } from "../refresh.js";
import { link } from "../router.js";
import { factWords, known, t } from "../strings.js";

/** @typedef {import("../types.js").Contamination} Report */
/** @typedef {import("../types.js").EntryOrigin} Entry */
/** @typedef {{words: Map<string, string>, chats: string[]}} Sharing what those are called that share the book, and who they are */

const AT_ONCE = 50;
const MOST = 200;

/**
 * @param {HTMLElement} place
 * @param {string[]} args
 * @param {AbortSignal} signal
 */
export async function showContamination(place, args, signal) {
  const chat = args[0] ?? "";
  /** @type {Report | null} with the entries that are shown */
  let report = null;
  const apart = h("ul", { class: "entries" });
  const rest = h("ul", { class: "entries" });
  const next = button(t("contamination.more"), () => void readOn(), { class: "small" });
  const watcher = new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && void readOn());
  signal.addEventListener("abort", () => watcher.disconnect());

  /** @param {number} start @param {number} count @returns {Promise<Report>} */
  const read = (start, count) => look("contamination", { chat, start, count: Math.min(count, MOST) }, { signal });

  /** As many entries as were shown before, so that nothing moves away from its reader. */
  async function load() {
    const wanted = Math.max(report?.entries.length ?? 0, AT_ONCE);
    const loaded = await read(0, wanted);
    while (loaded.entries.length < Math.min(wanted, loaded.total)) {
      const more = await read(loaded.entries.length, wanted - loaded.entries.length);
      if (!more.entries.length) break;
      loaded.entries.push(...more.entries);
    }
    report = loaded;
    draw(loaded);
  }

  async function readOn() {
    const before = report;
    if (!before || next.disabled) return;
    next.disabled = true;
    try {
      const more = await read(before.entries.length, AT_ONCE);
      if (report !== before) return; // it was loaded anew meanwhile
      if (more.total !== before.total || more.book !== before.book) return await load();
      before.entries.push(...more.entries);
      add(more.entries, before);
    } catch (error) {
      refused(problemOf(error));
    } finally {
      next.disabled = false;
    }
  }

  /** @param {Entry[]} entries @param {Report} shown */
  function add(entries, shown) {
    const sharing = sharingOf(shown);
    for (const entry of entries) (entry.goes_to.length < shown.timelines.length ? apart : rest).append(entryItem(entry, sharing));
    next.remove();
    watcher.disconnect();
    if (shown.entries.length >= shown.total) return;
    (shown.entries.length < shown.apart ? apart : rest).after(next);
    watcher.observe(next); // anew, so that it is told also when it has not left the window
  }

  /** @param {Report} shown */
  function draw(shown) {
    const { words } = sharingOf(shown);
    const forks = shown.timelines.filter((timeline) => timeline.kind !== "main");
    const everywhere = shown.total - shown.apart;
    const wasOpen = rest.closest("details")?.open;
    const restPart = more(t("contamination.everywhere", { count: everywhere }), rest);
    restPart.open = Boolean(wasOpen);
    fill(apart);
    fill(rest);
    fill(
      place,
      h(
        "div",
        { class: "page page-wide" },
        trail([
          { text: t("stories.title"), href: link("stories") },
          { text: storyName(shown.story).title, href: link("story", shown.story) },
        ]),
        h("div", { class: "page-head" }, h("div", null, h("h1", null, t("contamination.title")), h("p", { class: "quiet" }, t("contamination.text")))),
        h(
          "section",
          { class: "card" },
          h("h2", { class: "group-title" }, icon("book"), " ", name(shown.book)),
          h("p", null, t("contamination.shared", { count: shown.timelines.length })),
          shown.timelines.length > 1 && forks.length > 1 ? h("p", null, button(t("isolate.all.button"), () => openIsolateAllDialog(shown.story, () => void load()), { class: "small", icon: "shield" })) : null,
          h(
            "ul",
            { class: "rows" },
            ...shown.timelines.map((timeline) =>
              h(
                "li",
                { class: "row" },
                h("div", { class: "row-words" }, h("p", null, timelineLink(timeline.chat, words.get(timeline.chat) ?? timeline.chat), " ", kindBadge(timeline.kind))),
                timeline.kind === "main" || shown.timelines.length < 2 ? null : button(t("isolate.button"), () => openIsolateDialog(timeline.chat, { changed: () => void load() }), { class: "small", icon: "shield" }),
              ),
            ),
          ),
        ),
        shown.timelines.length < 2 ? emptiness("shield", t("contamination.alone"), h("p", null, t("contamination.alone.text"))) : null,
        shown.apart ? h("section", null, h("h2", null, t("contamination.apart", { count: shown.apart })), apart) : null,
        everywhere ? h("section", { class: "card" }, restPart) : null,
      ),
    );
    add(shown.entries, shown);
  }

  await load();
  keepFresh(load, signal);
}

/** @param {Report} report @returns {Sharing} */
function sharingOf({ timelines }) {
  return { words: new Map(timelines.map(({ chat, parent }) => [chat, timelineName(chat, parent)])), chats: timelines.map(({ chat }) => chat) };
}

/**
 * @param {Entry} entry
 * @param {Sharing} sharing
 * @returns {HTMLElement}
 */
function entryItem(entry, { words, chats }) {
  const word = (/** @type {string} */ chat) => words.get(chat) ?? timelineName(chat, null);
  return h(
    "li",
    { class: "entry" },
    h("h3", { class: "entry-name" }, name(entry.comment || `#${entry.uid}`)),
    h("div", { class: "entry-from" }, h("p", { class: "entry-word" }, t("contamination.from")), ...producers(entry, word)),
    h(
      "div",
      { class: "entry-to" },
      h("p", { class: "entry-word" }, t("contamination.to")),
      h("ul", null, ...chats.map((chat) => keeper(word(chat), entry.goes_to.includes(chat)))),
    ),
  );
}

/**
 * @param {Entry} entry
 * @param {(chat: string) => string} word
 * @returns {HTMLElement[]}
 */
function producers(entry, word) {
  if (!entry.produced_by.length) return [h("p", null, t("contamination.nobody"))];
  return entry.produced_by.map((producer) =>
    h(
      "p",
      null,
      name(word(producer.chat)),
      " ",
      h("span", { class: `chip confidence-${producer.confidence}` }, known(`confidence.${producer.confidence}`) ? t(`confidence.${producer.confidence}`) : producer.confidence),
      " ",
      h("span", { class: "quiet", dir: "auto" }, factWords(producer.reason)),
    ),
  );
}

/**
 * @param {string} shown
 * @param {boolean} keeps
 * @returns {HTMLElement}
 */
function keeper(shown, keeps) {
  return h("li", { class: keeps ? "keeps" : "loses" }, icon(keeps ? "check" : "close"), spoken(`${t(keeps ? "contamination.keeps" : "contamination.loses")}: `), name(shown));
}
