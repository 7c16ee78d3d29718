/** The members of a stored object as texts: nobody parses what they hold. */

import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  closingQuote,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "./json_characters.ts";

/** Name and text of each member of an object, of which `text` is what `JSON.stringify` makes. */
export function* memberTexts(text: string): Generator<[name: string, value: string], void> {
  let at = 1;
  // Bounded: by the text; so is the loop below.
  while (text.charCodeAt(at) === QUOTE) {
    const colon = closingQuote(text, at) + 1;
    const end = endOfValue(text, colon + 1);
    yield [JSON.parse(text.slice(at, colon)), text.slice(colon + 1, end)];
    at = end + 1;
  }
}

/** The place behind the value that begins at `begin` within an object or a list. */
export function endOfValue(text: string, begin: number): number {
  let depth = 0;
  for (let at = begin;; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = closingQuote(text, at);
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (depth === 0) return at;
      depth--;
    } else if (code === COMMA && depth === 0) return at;
  }
}
