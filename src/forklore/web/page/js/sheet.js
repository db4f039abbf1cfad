/**
 * The panel beside a timeline; where there is no room beside it, it comes up from below when asked.
 * @module
 */
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { raiseNotices } from "./notices.js";
import { t } from "./strings.js";

/**
 * @param {HTMLElement} panel
 * @param {AbortSignal} signal
 * @returns {{aside: HTMLElement, open: () => void, close: () => void}}
 */
export function createSheet(panel, signal) {
  const narrow = window.matchMedia("(max-width: 899px)");
  const aside = h("aside", { class: "panel-place", aria: { label: t("timeline.about") } });
  const dialog = h(
    "dialog",
    { class: "sheet", aria: { label: t("timeline.about") } },
    h("div", { class: "sheet-head" }, h("button", { type: "button", class: "icon-button", aria: { label: t("close") }, on: { click: () => dialog.close() } }, icon("close"))),
  );
  dialog.addEventListener("pointerdown", (event) => {
    if (event.target === dialog) dialog.close();
  });

  dialog.addEventListener("close", raiseNotices);

  function settle() {
    if (dialog.open) dialog.close();
    (narrow.matches ? dialog : aside).append(panel);
    aside.hidden = narrow.matches;
  }
  settle();
  document.body.append(dialog);
  narrow.addEventListener("change", settle, { signal });
  signal.addEventListener("abort", () => dialog.remove());
  return {
    aside,
    open() {
      if (!narrow.matches || dialog.open) return;
      dialog.showModal();
      raiseNotices();
    },
    close() {
      if (dialog.open) dialog.close();
    },
  };
}
