/**
 * Whose messages can have written each entry of a shared lorebook, and where isolating would put it.
 * @module
 */
import { look } from "../api.js";
import { openIsolateDialog } from "../dialogs/isolate.js";
import { fill, h, name } from "../dom.js";
import { storyName, timelineName } from "../format.js";
import { icon } from "../icons.js";
import { button, emptiness, kindBadge, timelineLink, trail } from "../parts.js";
import { keepFresh } from "../refresh.js";
import { link } from "../router.js";
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
    const doubtful = report.entries.filter((entry) => entry.goes_to.length < report.timelines.length);
    const rest = report.entries.filter((entry) => entry.goes_to.length >= report.timelines.length);
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
        doubtful.length ? table(t("contamination.apart"), doubtful, names) : null,
        rest.length ? table(t("contamination.everywhere"), rest, names) : null,
      ),
    );
  }

  await load();
  keepFresh(load, signal);
}

/**
 * @param {string} title
 * @param {Entry[]} entries
 * @param {Map<string, string>} names
 * @returns {HTMLElement}
 */
function table(title, entries, names) {
  const word = (/** @type {string} */ chat) => names.get(chat) ?? timelineName(chat, null);
  return h(
    "section",
    null,
    h("h2", null, title, " ", h("span", { class: "quiet" }, String(entries.length))),
    h(
      "div",
      { class: "table-place", role: "region", tabindex: 0, aria: { label: title } },
      h(
        "table",
        null,
        h("thead", null, h("tr", null, ...["entry", "from", "to"].map((each) => h("th", { scope: "col" }, t(`contamination.${each}`))))),
        h(
          "tbody",
          null,
          ...entries.map((entry) =>
            h(
              "tr",
              null,
              h("th", { scope: "row" }, name(entry.comment || `#${entry.uid}`)),
              h("td", null, entry.produced_by.length ? h("ul", { class: "plain" }, ...entry.produced_by.map((producer) => h("li", null, name(word(producer.chat)), " ", h("span", { class: `chip confidence-${producer.confidence}` }, known(`confidence.${producer.confidence}`) ? t(`confidence.${producer.confidence}`) : producer.confidence), h("span", { class: "quiet", dir: "auto" }, ` ${producer.because}`)))) : t("contamination.nobody")),
              h("td", null, entry.goes_to.map(word).join(", ")),
            ),
          ),
        ),
      ),
    ),
  );
}
