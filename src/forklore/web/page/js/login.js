/**
 * Logging in: by the link that the service printed, or by its password.
 * @module
 */
import { fill, h } from "./dom.js";
import { keyHeader, storedLogin, storeLogin } from "./key.js";
import { loadStrings, t } from "./strings.js";

const main = h("main", { class: "login", tabindex: -1 });

/** @returns {void} */
const goIn = () => location.replace(`/${location.hash}`);

/**
 * @param {Record<string, string>} shown what opens the page
 * @returns {Promise<number>} the status of the answer, 0 when there was none
 */
async function logIn(shown) {
  try {
    const headers = { "Content-Type": "application/json", ...keyHeader() };
    const answer = await fetch("/login", { method: "POST", headers, credentials: "same-origin", body: JSON.stringify(shown) });
    if (answer.ok) storeLogin(await answer.json());
    return answer.status;
  } catch {
    return 0;
  }
}

/** @returns {Promise<string | null>} the user that this browser is logged in as */
async function loggedInAs() {
  const login = storedLogin();
  if (!login) return null;
  const answer = await fetch("/api/settings", { headers: keyHeader(), credentials: "same-origin", cache: "no-store" }).catch(() => null);
  return answer?.ok ? login.user : null;
}

/** @param {number} status @returns {string} what went wrong */
function wordsFor(status) {
  if (status === 0) return t("login.away");
  return t(status === 429 ? "login.often" : status === 401 ? "login.used" : "login.wrong");
}

/** @returns {HTMLElement} */
function passwordForm() {
  const field = h("input", { type: "password", id: "password", autocomplete: "current-password", required: true });
  const problem = h("p", { class: "login-problem", role: "alert" });
  const submit = h("button", { type: "submit", class: "button primary" }, t("login.in"));
  async function come(/** @type {Event} */ event) {
    event.preventDefault();
    submit.disabled = true;
    fill(problem);
    const status = await logIn({ password: field.value });
    if (status === 200) return goIn();
    fill(problem, wordsFor(status));
    field.select();
    submit.disabled = false;
  }
  return h("form", { class: "login-form", on: { submit: come } }, h("label", { for: "password" }, t("login.password")), field, submit, problem);
}

/** @param {string} title @param {...(HTMLElement | null)} parts */
function show(title, ...parts) {
  document.title = `${title} · Forklore`;
  fill(main, h("img", { src: "/page/icon.svg", alt: "", width: 64, height: 64 }), h("h1", null, title), ...parts);
}

/** @param {string} problem what to say first, if anything */
async function showForm(problem = "") {
  let password = false;
  try {
    const answer = await fetch("/api/health", { cache: "no-store" });
    password = Boolean((await answer.json()).password);
  } catch {
    problem = t("login.away");
  }
  show(
    t("login.title"),
    problem ? h("p", { class: "login-problem", role: "alert" }, problem) : null,
    h("p", null, t("login.text")),
    h("ol", { class: "login-steps" }, h("li", null, t("login.step.1"), " ", h("code", null, "forklore serve")), h("li", null, t("login.step.2"))),
    password ? h("section", null, h("h2", null, t("login.or")), passwordForm()) : null,
  );
}

/** @param {string} user @param {string} code */
async function follow(user, code) {
  const status = await logIn({ user, code });
  if (status === 200) goIn();
  else await showForm(wordsFor(status));
}

/** @param {string} now @param {string} user @param {string} code */
function askFirst(now, user, code) {
  const stay = h("button", { class: "button", on: { click: goIn } }, t("login.stay", { user: now }));
  const turn = h("button", { class: "button primary", on: { click: () => void follow(user, code) } }, t("login.switch", { user }));
  show(t("login.other", { user }), h("p", null, t("login.other.text", { user: now })), h("p", { class: "login-choice" }, turn, stay));
}

async function start() {
  await loadStrings();
  document.body.append(main);
  const link = new URLSearchParams(location.search);
  const [user, code] = [link.get("user") ?? "", link.get("code") ?? ""];
  const now = await loggedInAs();
  if (now !== null && (!code || user === now)) goIn(); // the link is left for another browser
  else if (now !== null) askFirst(now, user, code);
  else if (code) await follow(user, code);
  else await showForm();
}

void start();
