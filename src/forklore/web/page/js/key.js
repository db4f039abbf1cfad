/**
 * The page's half of its key: the other half is the cookie, which a browser sends to every port of this computer.
 * @module
 */

const STORED = "forklore.login";

/** @typedef {{key: string, user: string}} Login */

/** @returns {Login | null} what this page was logged in with; it may be over by now */
export function storedLogin() {
  try {
    const { key, user } = JSON.parse(localStorage.getItem(STORED) ?? "null") ?? {};
    return typeof key === "string" && typeof user === "string" ? { key, user } : null;
  } catch {
    return null;
  }
}

/** @param {Login} login */
export function storeLogin({ key, user }) {
  localStorage.setItem(STORED, JSON.stringify({ key, user }));
}

/** @returns {Record<string, string>} the header that every request of the page carries */
export function keyHeader() {
  const login = storedLogin();
  return login ? { "X-Forklore-Page": login.key } : {};
}
