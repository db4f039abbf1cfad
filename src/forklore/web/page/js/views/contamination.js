/**
 * Whose messages can have written each entry of a shared lorebook, and where isolating would put it.
 * @module
 */
import { look } from "../api.js";
import { openIsolateDialog } from "../dialogs/isolate.js";
import { openIsolateAllDialog } from "../dialogs/isolate_all.js";
import { fill, h, name, spoken } from "../dom.js";
import { storyName, timelineName } from "../format.js";
import { icon } from "../icons.js";
import { button, emptiness, kindBadge, more, timelineLink, trail } from "../parts.js";
import { keepFresh } from "../refresh.js";
import { link } from "../router.js";
import { said } from "../said.js";
import { known, many, t } from "../strings.js";

/** @typedef {{chat: string, confidence: string, because: string}} Producer */
/** @typedef {{uid: unknown, comment: string, produced_by: Producer[], goes_to: string[]}} Entry */
/** @typedef {{story: string, book: string, timelines: import("../types.js").Timeline[], entries: Entry[]}} Report */

/**
 * @param {HTMLElement} place
 * @param {string[]} args
 * @param {AbortSignal} signal
 */
export async function showContamination(place, args, signal) {
  const chat = args[0] ?? "";

  async function load() {
    /** @type {Report} */
    const report = await look("contamination", { chat }, { signal });
    draw(report);
  }

  /** @param {Report} report */
  function draw(report) {
    const names = new Map(report.timelines.map((timeline) => [timeline.chat, timelineName(timeline.chat, timeline.parent)]));
    const apart = report.entries.filter((entry) => entry.goes_to.length < report.timelines.length);
    const rest = report.entries.filter((entry) => entry.goes_to.length >= report.timelines.length);
    const forks = report.timelines.filter((timeline) => timeline.kind !== "main");
    fill(
      place,
      h(
        "div",
        { class: "page page-wide" },
        trail([
          { text: t("stories.title"), href: link("stories") },
          { text: storyName(report.story).title, href: link("story", report.story) },
        ]),
        h("div", { class: "page-head" }, h("div", null, h("h1", null, t("contamination.title")), h("p", { class: "quiet" }, t("contamination.text")))),
        h(
          "section",
          { class: "card" },
          h("h2", { class: "group-title" }, icon("book"), " ", name(report.book)),
          h("p", null, many("contamination.shared", report.timelines.length)),
          report.timelines.length > 1 && forks.length > 1 ? h("p", null, button(t("isolate.all.button"), () => openIsolateAllDialog(report.story, () => void load()), { class: "small", icon: "shield" })) : null,
          h(
            "ul",
            { class: "rows" },
            ...report.timelines.map((timeline) =>
              h(
                "li",
                { class: "row" },
                h("div", { class: "row-words" }, h("p", null, timelineLink(timeline.chat, names.get(timeline.chat) ?? timeline.chat), " ", kindBadge(timeline.kind))),
                timeline.kind === "main" || report.timelines.length < 2 ? null : button(t("isolate.button"), () => openIsolateDialog(timeline.chat, { changed: () => void load() }), { class: "small", icon: "shield" }),
              ),
            ),
          ),
        ),
        report.timelines.length < 2 ? emptiness("shield", t("contamination.alone"), h("p", null, t("contamination.alone.text"))) : null,
        apart.length ? h("section", null, h("h2", null, many("contamination.apart", apart.length)), entryList(apart, report, names)) : null,
        rest.length ? h("section", { class: "card" }, more(many("contamination.everywhere", rest.length), entryList(rest, report, names))) : null,
      ),
    );
  }

  await load();
  keepFresh(load, signal);
}

/**
 * @param {Entry[]} entries
 * @param {Report} report
 * @param {Map<string, string>} names
 * @returns {HTMLElement}
 */
function entryList(entries, report, names) {
  const word = (/** @type {string} */ chat) => names.get(chat) ?? timelineName(chat, null);
  return h(
    "ul",
    { class: "entries" },
    ...entries.map((entry) =>
      h(
        "li",
        { class: "entry" },
        h("h3", { class: "entry-name" }, name(entry.comment || `#${entry.uid}`)),
        h("div", { class: "entry-from" }, h("p", { class: "entry-word" }, t("contamination.from")), ...producers(entry, word)),
        h(
          "div",
          { class: "entry-to" },
          h("p", { class: "entry-word" }, t("contamination.to")),
          h("ul", null, ...report.timelines.map(({ chat }) => keeper(word(chat), entry.goes_to.includes(chat)))),
        ),
      ),
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
      h("span", { class: "quiet", dir: "auto" }, said(producer.because)),
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
