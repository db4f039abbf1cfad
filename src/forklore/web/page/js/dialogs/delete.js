/**
 * Moving a timeline to the trash.
 * @module
 */
import { change, look, problemOf } from "../api.js";
import { ask } from "../dialog.js";
import { h, name } from "../dom.js";
import { chatTitle, timelineName } from "../format.js";
import { refused, told } from "../notices.js";
import { chatName } from "../parts.js";
import { go } from "../router.js";
import { factWords, t } from "../strings.js";
import { undoAction } from "../undo.js";

/** @typedef {import("../types.js").Timeline} Timeline */

/**
 * Asks, and moves the timeline to the trash.
 * @param {string} chat
 */
export async function openDeleteDialog(chat) {
  try {
    /** @type {Timeline} */
    const timeline = await look("show", { chat });
    const sure = await ask({
      title: t("delete.title"),
      body: [
        h("p", null, chatName(chat, "name strong")),
        h("p", null, t("delete.text")),
        timeline.children.length
          ? h("div", { class: "callout callout-warn" }, h("div", null, h("p", { class: "callout-title" }, t("delete.children", { count: timeline.children.length })), h("ul", { class: "plain" }, ...timeline.children.map((child) => h("li", null, name(timelineName(child, chat)))))))
          : null,
      ],
      action: t("delete.do"),
      danger: true,
    });
    if (!sure) return;
    const deleted = await change("delete", { chat, yes: timeline.children.length > 0 });
    const kept = deleted.kept_facts.length ? `${t("delete.kept")} ${deleted.kept_facts.map(factWords).join(" ")}` : "";
    told(t("delete.done", { name: chatTitle(chat) }), kept, [undoAction(deleted.operation)]);
    if (timeline.parent) go("story", timeline.parent);
    else if (timeline.children[0]) go("story", timeline.children[0]);
    else go("stories");
  } catch (error) {
    refused(problemOf(error));
  }
}
