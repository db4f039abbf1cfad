/**
 * Nobody is logged in: how to come in again.
 * @module
 */
import { fill, h } from "../dom.js";
import { emptiness } from "../parts.js";
import { t } from "../strings.js";

/** @param {HTMLElement} place */
export function showLoggedOut(place) {
  place.className = "view-out";
  fill(
    place,
    h(
      "div",
      { class: "page" },
      h("h1", { class: "spoken" }, t("out.title")),
      emptiness(
        "book",
        t("out.title"),
        h("p", null, t("out.text")),
        h("p", null, t("out.how")),
        h("p", null, h("a", { class: "button primary", href: "/login" }, t("out.login"))),
      ),
    ),
  );
}
