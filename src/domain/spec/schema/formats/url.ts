/**
 * `format: url`: accepts the same texts as the expression of ajv-formats, in linear time.
 *
 * That expression takes quadratic time, because it tries each colon of the text against each `@`.
 */

const SCHEME = /^(?:https?|ftp):\/\//iu;

/** A public internet address, or a name whose last label consists of letters. */
const HOST =
  /^(?:(?!(?:10|127)(?:\.\d{1,3}){3})(?!(?:169\.254|192\.168)(?:\.\d{1,3}){2})(?!172\.(?:1[6-9]|2\d|3[0-1])(?:\.\d{1,3}){2})(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.(?:1?\d{1,2}|2[0-4]\d|25[0-5])){2}(?:\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4]))|(?:(?:[a-z0-9\u{a1}-\u{ffff}]+-)*[a-z0-9\u{a1}-\u{ffff}]+)(?:\.(?:[a-z0-9\u{a1}-\u{ffff}]+-)*[a-z0-9\u{a1}-\u{ffff}]+)*(?:\.(?:[a-z\u{a1}-\u{ffff}]{2,})))$/iu;

const PORT = /:\d{2,5}(?=\/|$)/uy;

export function isUrl(text: string): boolean {
  const start = SCHEME.exec(text)?.[0].length;
  if (start === undefined) return false;
  const lastSpace = lastSpaceOf(text);
  if (isHostAndPath(text, start, lastSpace)) return true;
  // The user information before an "@" has at least one character and no white space.
  const firstSpace = text.slice(start).search(/\s/u);
  const end = firstSpace === -1 ? text.length : start + firstSpace;
  for (
    let at = text.indexOf("@", start + 1);
    at !== -1 && at < end;
    at = text.indexOf("@", at + 1)
  ) {
    if (isHostAndPath(text, at + 1, lastSpace)) return true;
  }
  return false;
}

function lastSpaceOf(text: string): number {
  let last = -1;
  for (const { index } of text.matchAll(/\s/gu)) last = index;
  return last;
}

const HOST_END = /[@:/]/g;

/** A host, optionally a port, and optionally a path without white space. */
function isHostAndPath(text: string, start: number, lastSpace: number): boolean {
  HOST_END.lastIndex = start;
  const found = HOST_END.exec(text);
  if (found?.[0] === "@") return false;
  let at = found === null ? text.length : found.index;
  if (!HOST.test(text.slice(start, at))) return false;
  if (text[at] === ":") {
    PORT.lastIndex = at;
    const port = PORT.exec(text);
    if (port === null) return false;
    at += port[0].length;
  }
  return at === text.length || at > lastSpace;
}
