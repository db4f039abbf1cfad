/**
 * Coming in: the link that the service printed, or its password.
 * @module
 */
import { fill, h } from "./dom.js";
import { loadStrings, t } from "./strings.js";

const main = h("main", { class: "login", tabindex: -1 });

/** @returns {HTMLElement} */
function passwordForm() {
  const field = h("input", { type: "password", id: "password", autocomplete: "current-password", required: true });
  const problem = h("p", { class: "login-problem", role: "alert" });
  const submit = h("button", { type: "submit", class: "button primary" }, t("login.in"));
  async function come(/** @type {Event} */ event) {
    event.preventDefault();
    submit.disabled = true;
    fill(problem);
    try {
      const answer = await fetch("/login", { method: "POST", headers: { "Content-Type": "application/json" }, credentials: "same-origin", body: JSON.stringify({ password: field.value }) });
      if (answer.ok) return location.assign("/");
      fill(problem, t(answer.status === 429 ? "login.often" : "login.wrong"));
      field.select();
    } catch {
      fill(problem, t("login.away"));
    } finally {
      submit.disabled = false;
    }
  }
  return h("form", { class: "login-form", on: { submit: come } }, h("label", { for: "password" }, t("login.password")), field, submit, problem);
}

async function start() {
  await loadStrings();
  document.title = `${t("login.title")} · Forklore`;
  let password = false;
  let away = false;
  try {
    const answer = await fetch("/api/health", { cache: "no-store" });
    password = Boolean((await answer.json()).password);
  } catch {
    away = true;
  }
  fill(
    main,
    h("img", { src: "/page/icon.svg", alt: "", width: 64, height: 64 }),
    h("h1", null, t("login.title")),
    h("p", null, t("login.text")),
    h("ol", { class: "login-steps" }, h("li", null, t("login.step.1"), " ", h("code", null, "forklore serve")), h("li", null, t("login.step.2"))),
    away ? h("p", { class: "login-problem", role: "alert" }, t("login.away")) : null,
    password ? h("section", null, h("h2", null, t("login.or")), passwordForm()) : null,
  );
  document.body.append(main);
}

void start();
