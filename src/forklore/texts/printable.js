/**
 * Names of strangers, made harmless for whoever reads them, as the service does it in its sentences.
 * @module
 */

// Control characters, line ends and changes of direction; in a text the breaks and tabs of its writer stay.
const IN_TEXT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
const IN_NAME = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
/** @type {Record<string, string>} */
const SHORT = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** @param {string} sign @returns {string} */
function escaped(sign) {
  const code = sign.charCodeAt(0);
  return SHORT[sign] ?? (code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`);
}

/**
 * @param {string} text a name, or what is to be one line
 * @returns {string} the same with an escape for each character that would not just stand there
 */
export function printable(text) {
  return text.replace(IN_NAME, escaped);
}

/**
 * @param {string} text of one or more lines
 * @returns {string} the same with its own lines
 */
export function printableText(text) {
  return text.replace(IN_TEXT, escaped);
}
