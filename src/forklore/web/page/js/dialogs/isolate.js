/**
 * Giving a timeline a lorebook of its own: the plan first.
 * @module
 */
import { change, problemOf } from "../api.js";
import { openDialog } from "../dialog.js";
import { fill, h, name } from "../dom.js";
import { refused, told } from "../notices.js";
import { button, factList, more, planList, waiting } from "../parts.js";
import { findingPart, notesPart, problemPart } from "../problems.js";
import { number, t } from "../strings.js";
import { undoAction } from "../undo.js";

/**
 * @param {string} chat
 * @param {{share?: boolean, changed?: () => void}} [options]
 */
export function openIsolateDialog(chat, { share = false, changed = () => undefined } = {}) {
  const word = share ? "share" : "isolate";
  const dialog = openDialog({ title: t(`${word}.title`), body: [waiting(t("plan.making"))], foot: [] });

  async function plan() {
    try {
      const planned = await change("isolate", { chat, share, dry_run: true }, { signal: dialog.signal });
      fill(dialog.body, h("p", null, t(`${word}.text`)), h("h3", null, t("plan.title")), planList(planned.plan));
      const yes = button(t(`${word}.do`), () => void apply(), { class: "primary" });
      fill(dialog.foot, button(t("cancel"), dialog.close), planned.plan.length || share ? yes : null);
      yes.focus();
    } catch (error) {
      trouble(error);
    }
  }

  async function apply() {
    fill(dialog.foot);
    fill(dialog.body, waiting(t("working")));
    try {
      const done = await change("isolate", { chat, share });
      const title = t(`isolate.outcome.${done.outcome}`);
      told(title, "", done.operation ? [undoAction(done.operation)] : []);
      changed();
      if (dialog.signal.aborted) return;
      dialog.retitle(title);
      fill(
        dialog.body,
        factList([
          [t("word.lorebook"), done.lorebook ? name(done.lorebook) : null],
          [t("details.entries"), number(done.entries)],
          [t("preview.source"), t(`source.${done.lorebook_source}`)],
          [t("preview.versions.kept"), done.kept_versions.join(", ")],
          [t("preview.versions.left"), done.removed_versions.join(", ")],
        ]),
        ...done.warnings.map((/** @type {import("../types.js").Finding} */ warning) => findingPart(warning)),
        notesPart(done.notes),
        done.left_out_entries.length ? more(t("isolate.left_out"), h("ul", { class: "plain" }, ...done.left_out_entries.map((/** @type {string} */ each) => h("li", null, name(each))))) : null,
      );
      fill(dialog.foot, button(t("close"), dialog.close, { class: "primary" }));
    } catch (error) {
      trouble(error);
    }
  }

  /** @param {unknown} error */
  function trouble(error) {
    const problem = problemOf(error);
    if (!problem) return;
    if (dialog.signal.aborted) return refused(problem);
    fill(dialog.body, problemPart(problem, () => void plan()));
    fill(dialog.foot, button(t("close"), dialog.close));
  }

  void plan();
}
