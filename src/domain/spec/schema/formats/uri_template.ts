/**
 * `format: uri-template`: RFC 6570, read from left to right.
 *
 * An apostrophe may occur outside braces, according to the erratum to its section 2.1.
 */

const LITERAL =
  /(?:[!#$&-;=?-[\]_a-z~\u{a0}-\u{d7ff}\u{e000}-\u{fdcf}\u{fdf0}-\u{ffef}\u{10000}-\u{10fffd}]|%[0-9A-Fa-f]{2})*/uy;

/** An optional operator, then variables, each with an optional modifier. */
const EXPRESSION = expressionPattern();

export function isUriTemplate(text: string): boolean {
  for (let at = 0;;) {
    LITERAL.lastIndex = at;
    at += LITERAL.exec(text)![0].length;
    if (at === text.length) return true;
    if (text[at] !== "{") return false;
    const end = text.indexOf("}", at);
    if (end === -1 || !EXPRESSION.test(text.slice(at + 1, end))) return false;
    at = end + 1;
  }
}

function expressionPattern(): RegExp {
  const character = "(?:\\w|%[0-9A-Fa-f]{2})";
  const variable = `${character}(?:\\.?${character})*(?:\\*|:[1-9]\\d{0,3})?`;
  return new RegExp(`^[+#./;?&=,!@|]?${variable}(?:,${variable})*$`);
}
