/** The characters of JSON texts, for those who look at each of them. */

export const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** A digit or a decimal point. */
export function isNumberCharacter(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2e;
}

/** As {@link closingQuote}, for a text without escapes: a search is faster than a loop. */
export function nextQuote(text: string, open: number): number {
  const at = text.indexOf('"', open + 1);
  return at < 0 ? text.length : at;
}

/** The end of the string that opens at `open`; `end` if it does not close before. */
export function closingQuote(text: string, open: number, end: number = text.length): number {
  let at = open + 1;
  for (; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  return at;
}
