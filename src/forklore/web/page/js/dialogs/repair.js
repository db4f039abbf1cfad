/**
 * The repairs of a finding: what each would change, then one is made.
 * @module
 */
import { change, look, problemOf } from "../api.js";
import { openDialog } from "../dialog.js";
import { fill, freshId, h } from "../dom.js";
import { halfDone, told } from "../notices.js";
import { button, planList, waiting } from "../parts.js";
import { findingPart, problemPart } from "../problems.js";
import { known, t } from "../strings.js";
import { undoAction } from "../undo.js";

/** @typedef {import("../types.js").Finding} Finding */
/** @typedef {import("../types.js").Repairs} Repairs */
/** @typedef {import("../types.js").RepairOffered} RepairOffered */

/** Isolating is an operation of its own, and so is its plan. */
const PLANNED_ELSEWHERE = ["isolate", "share"];

/**
 * @param {string} chat
 * @param {Finding} finding
 * @param {() => void} changed
 */
export async function openRepairDialog(chat, finding, changed) {
  const dialog = openDialog({ title: t("repair.title"), body: [waiting(t("plan.making"))], foot: [] });
  const group = freshId("repair");

  async function offer() {
    try {
      /** @type {Repairs} */
      const repairs = await look("repair", { chat, code: finding.code }, { signal: dialog.signal });
      await Promise.all(repairs.repairs.map(planOf));
      draw(repairs);
    } catch (error) {
      trouble(error, offer);
    }
  }

  /** @param {RepairOffered} offered */
  async function planOf(offered) {
    if (offered.plan.length || !PLANNED_ELSEWHERE.includes(offered.repair)) return;
    const planned = await change("isolate", { chat, share: offered.repair === "share", dry_run: true }, { signal: dialog.signal });
    offered.plan = planned.plan;
  }

  /** @param {Repairs} repairs */
  function draw(repairs) {
    const choices = repairs.repairs.map((offered, index) => {
      const radio = h("input", { type: "radio", name: group, value: offered.repair, checked: index === 0 });
      return h(
        "div",
        { class: "choice" },
        h("label", { class: "choice-head" }, radio, h("span", null, h("strong", null, repairWords(offered)), index === 0 && repairs.repairs.length > 1 ? h("span", { class: "chip" }, t("repair.best")) : null)),
        h("div", { class: "choice-body" }, planList(offered.plan)),
      );
    });
    fill(dialog.body, findingPart(repairs.finding), choices.length ? h("fieldset", { class: "choices" }, h("legend", null, t("repair.choose")), ...choices) : h("p", null, t("repair.none")));
    const yes = button(t("repair.do"), () => void apply(), { class: "primary" });
    fill(dialog.foot, button(t("cancel"), dialog.close), choices.length ? yes : null);
    yes.focus();
  }

  async function apply() {
    const chosen = /** @type {HTMLInputElement | null} */ (dialog.body.querySelector("input:checked"))?.value;
    if (!chosen) return;
    fill(dialog.foot);
    fill(dialog.body, waiting(t("working")));
    try {
      /** @type {Repairs} */
      const done = await change("repair", { chat, code: finding.code, with: chosen });
      dialog.close();
      const actions = done.operation ? [undoAction(done.operation)] : [];
      if (done.pending_facts.length) halfDone(done.pending_facts, actions);
      else told(t("repair.done"), known(`repair.${chosen}`) ? t(`repair.${chosen}`) : chosen, actions);
      changed();
    } catch (error) {
      trouble(error, offer);
    }
  }

  /**
   * @param {unknown} error
   * @param {() => Promise<void>} again
   */
  function trouble(error, again) {
    const problem = problemOf(error);
    if (!problem || dialog.signal.aborted) return;
    fill(dialog.body, problemPart(problem, () => void again()));
    fill(dialog.foot, button(t("close"), dialog.close));
  }

  await offer();
}

/** @param {RepairOffered} offered @returns {string} */
function repairWords(offered) {
  const key = offered.source ? `repair.${offered.repair}.${offered.source}` : `repair.${offered.repair}`;
  return known(key) ? t(key) : offered.does;
}
