/**
 * What is around every view: the name, the ways to the views, the banner when the service is gone.
 * @module
 */
import { fill, h } from "./dom.js";
import { connection, on, tryNow } from "./events.js";
import { icon } from "./icons.js";
import { noticePlace } from "./notices.js";
import { link } from "./router.js";
import { t } from "./strings.js";
import { workPlace } from "./work.js";

const PLACES = [
  { view: "stories", icon: "book", also: ["story", "timeline", "contamination"] },
  { view: "doctor", icon: "pulse", also: [] },
  { view: "log", icon: "clock", also: [] },
  { view: "trash", icon: "trash", also: [] },
  { view: "settings", icon: "gear", also: [] },
];

const main = h("main", { id: "main", tabindex: -1 });
const head = h("header", { class: "head" });
const banner = h("div", { role: "status", aria: { live: "polite" } });

/**
 * Puts the frame on the page, in the present language.
 * @returns {HTMLElement} where views go
 */
export function drawShell() {
  fill(
    head,
    h("a", { class: "skip", href: "#main", on: { click: skip } }, t("skip")),
    h("a", { class: "brand", href: link("stories") }, h("img", { src: "/page/icon.svg", alt: "", width: 28, height: 28 }), h("span", null, "Forklore")),
    h(
      "nav",
      { class: "places", aria: { label: t("nav") } },
      ...PLACES.map((place) =>
        h("a", { href: link(place.view), data: { view: place.view } }, icon(place.icon), h("span", null, t(`nav.${place.view}`))),
      ),
    ),
  );
  if (!main.isConnected) document.body.append(head, h("div", { class: "banner-place" }, banner, workPlace), main, noticePlace());
  drawBanner();
  return main;
}

/** @param {Event} event */
function skip(event) {
  event.preventDefault();
  main.focus();
}

/** @param {string} view the one that is shown */
export function markPlace(view) {
  for (const place of PLACES) {
    const shown = place.view === view || place.also.includes(view);
    const anchor = head.querySelector(`[data-view="${place.view}"]`);
    if (shown) anchor?.setAttribute("aria-current", "page");
    else anchor?.removeAttribute("aria-current");
  }
}

function drawBanner() {
  if (connection() !== "lost") return fill(banner);
  fill(
    banner,
    h(
      "div",
      { class: "banner" },
      icon("warning"),
      h("p", null, h("strong", null, t("offline.title")), " ", t("offline.text")),
      h("button", { type: "button", class: "button small", on: { click: () => void tryNow() } }, t("offline.now")),
    ),
  );
}

on("connection", drawBanner);
