/**
 * `format: regex`: whether a text is an ECMA-262 regular expression, read with the `u` flag.
 *
 * The language itself decides. It would expand each Unicode property to hundreds of ranges, so
 * each distinct property is looked up once and replaced by `\\d` in the text that the language
 * reads.
 */

import { createRecentMap } from "../../../recent_map.ts";

/** More than the language has: most names asked for exist. */
const KNOWN_MAX = 1_000;
const known = createRecentMap<string, boolean>(KNOWN_MAX);

const PROPERTY = /\\[pP]\{([A-Za-z0-9_=]{1,60})\}/y;
/** Maximum properties in one text; looking one up takes a few microseconds. */
const PROPERTIES_MAX = 50;

export function isRegularExpression(text: string): boolean {
  const plain = withoutProperties(text);
  return plain !== undefined && isAccepted(plain);
}

/** The text with `\\d` for each property; undefined if a property is unknown. */
function withoutProperties(text: string): string | undefined {
  const parts: string[] = [];
  const names = new Set<string>();
  let copied = 0;
  for (let at = text.indexOf("\\"); at !== -1; at = text.indexOf("\\", at + 2)) {
    const letter = text[at + 1];
    if (letter !== "p" && letter !== "P") continue;
    PROPERTY.lastIndex = at;
    const name = PROPERTY.exec(text)?.[1];
    if (name === undefined || !isProperty(name)) return undefined;
    if (names.add(name).size > PROPERTIES_MAX) return undefined;
    parts.push(text.slice(copied, at), "\\d");
    copied = PROPERTY.lastIndex;
    at = copied - 2;
  }
  return copied === 0 ? text : parts.join("") + text.slice(copied);
}

function isProperty(name: string): boolean {
  let answer = known.get(name);
  if (answer === undefined) {
    answer = isAccepted(`\\p{${name}}`);
    known.set(name, answer);
  }
  return answer;
}

function isAccepted(source: string): boolean {
  try {
    new RegExp(source, "u");
    return true;
  } catch {
    return false;
  }
}
