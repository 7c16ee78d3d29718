/** Finds the text of a member in a text of JSON that is known to be valid. */

import { parseJson } from "../json_text/parse_json.ts";

const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/** The text of the value at a path of keys, as it is spelt; undefined if it is not there. */
export function rawMember(text: string, path: readonly string[]): string | undefined {
  let [from, to] = [0, text.length];
  for (const key of path) {
    const found = memberOf(text, from, to, key);
    if (found === undefined) return undefined;
    [from, to] = found;
  }
  return text.slice(from, to).trim();
}

/** The place of the value of `key` in the object between the two places. */
function memberOf(
  text: string,
  from: number,
  to: number,
  key: string,
): [number, number] | undefined {
  let at = text.indexOf("{", from) + 1;
  while (at > 0 && at < to) {
    const begin = text.indexOf('"', at);
    if (begin < 0 || begin >= to) return undefined;
    const end = endOfText(text, begin);
    const name = parseJson<string>(text.slice(begin, end));
    const value = text.indexOf(":", end) + 1;
    const stop = endOfValue(text, value, to);
    if (name === key) return [value, stop];
    at = stop + 1;
  }
  return undefined;
}

function endOfText(text: string, begin: number): number {
  for (let at = begin + 1;; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE || at >= text.length) return at + 1;
  }
}

/** Where the comma or the brace is that ends the value. */
function endOfValue(text: string, begin: number, to: number): number {
  let depth = 0;
  for (let at = begin; at < to; at++) {
    const character = text[at]!;
    if (character === '"') at = endOfText(text, at) - 1;
    else if ("{[".includes(character)) depth++;
    else if ("}]".includes(character) && depth-- === 0) return at;
    else if (character === "," && depth === 0) return at;
  }
  return to;
}
