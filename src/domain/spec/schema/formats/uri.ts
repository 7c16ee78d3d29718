/**
 * The formats of addresses: `uri`, `uri-reference`, `iri` and `iri-reference` (RFC 3986 and RFC
 * 3987), `uri-template` (RFC 6570) and `url`.
 *
 * The text is read from left to right, each character once or twice.
 */

/** Non-ASCII characters, allowed in IRIs only; private ones only in queries. */
const WIDE = "\\u{a0}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{ffef}" + widePlanes(0x1, 0xd) +
  "\\u{e1000}-\\u{efffd}";
const PRIVATE = "\\u{e000}-\\u{f8ff}" + widePlanes(0xf, 0x10);

const UNRESERVED = "A-Za-z0-9._~\\-";
const SUB_DELIMITERS = "!$&'()*+,;=";

/** The characters allowed in each part of one kind of reference. */
interface Parts {
  readonly userInfo: RegExp;
  readonly name: RegExp;
  readonly path: RegExp;
  readonly query: RegExp;
  readonly fragment: RegExp;
}

const URI = partsOf("", "");
const IRI = partsOf(WIDE, PRIVATE);

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;
const FUTURE = /^v[0-9a-f]+\.[\w.~!$&'()*+,;=:-]+$/i;

export interface UriForm {
  readonly isInternational: boolean;
  /** True for references, which may omit the scheme. */
  readonly mayBeRelative: boolean;
}

/** `isIpv6`: the test of an address in brackets. */
export function isUri(text: string, form: UriForm, isIpv6: (text: string) => boolean): boolean {
  const parts = form.isInternational ? IRI : URI;
  const [beforeFragment, fragment] = cut(text, "#");
  const [beforeQuery, query] = cut(beforeFragment, "?");
  if (!parts.fragment.test(fragment ?? "") || !parts.query.test(query ?? "")) return false;
  const scheme = SCHEME.exec(beforeQuery)?.[0];
  if (scheme === undefined && !form.mayBeRelative) return false;
  let path = beforeQuery.slice(scheme?.length ?? 0);
  if (path.startsWith("//")) {
    const end = path.indexOf("/", 2);
    const authority = path.slice(2, end === -1 ? undefined : end);
    if (!isAuthority(authority, parts, isIpv6)) return false;
    path = end === -1 ? "" : path.slice(end);
  } else if (scheme === undefined && cut(path, "/")[0].includes(":")) {
    // The colon would be read as the end of a scheme.
    return false;
  }
  return parts.path.test(path);
}

function isAuthority(authority: string, parts: Parts, isIpv6: (text: string) => boolean): boolean {
  const at = authority.indexOf("@");
  if (at !== -1 && !parts.userInfo.test(authority.slice(0, at))) return false;
  const host = authority.slice(at + 1);
  if (!host.startsWith("[")) {
    const [name, port] = cut(host, ":");
    return parts.name.test(name) && /^\d*$/.test(port ?? "");
  }
  const end = host.indexOf("]");
  const literal = host.slice(1, end);
  return end !== -1 && /^(?::\d*)?$/.test(host.slice(end + 1)) &&
    (isIpv6(literal) || FUTURE.test(literal));
}

/** The text before the first `mark`, and the text after it. */
function cut(text: string, mark: string): [before: string, behind: string | undefined] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function partsOf(wide: string, privateUse: string): Parts {
  const name = UNRESERVED + SUB_DELIMITERS + wide;
  return {
    userInfo: textOf(`${name}:`),
    name: textOf(name),
    path: textOf(`${name}:@/`),
    query: textOf(`${name}:@/?${privateUse}`),
    fragment: textOf(`${name}:@/?`),
  };
}

/** No character can begin both alternatives, so the pattern never backtracks. */
function textOf(characters: string): RegExp {
  return new RegExp(`^(?:[${characters}]|%[0-9A-Fa-f]{2})*$`, "u");
}

/** All characters of these planes except the last two of each. */
function widePlanes(first: number, last: number): string {
  let classes = "";
  for (let plane = first; plane <= last; plane++) {
    const hex = plane.toString(16);
    classes += `\\u{${hex}0000}-\\u{${hex}fffd}`;
  }
  return classes;
}

const TEMPLATE_LITERAL =
  /(?:[!#$&-;=?-[\]_a-z~\u{a0}-\u{d7ff}\u{e000}-\u{fdcf}\u{fdf0}-\u{ffef}\u{10000}-\u{10fffd}]|%[0-9A-Fa-f]{2})*/uy;

/** An optional operator, then variables, each with an optional modifier. */
const TEMPLATE_EXPRESSION = expressionPattern();

/** RFC 6570. According to the erratum to its section 2.1, apostrophes may occur outside braces. */
export function isUriTemplate(text: string): boolean {
  for (let at = 0;;) {
    TEMPLATE_LITERAL.lastIndex = at;
    at += TEMPLATE_LITERAL.exec(text)![0].length;
    if (at === text.length) return true;
    if (text[at] !== "{") return false;
    const end = text.indexOf("}", at);
    if (end === -1 || !TEMPLATE_EXPRESSION.test(text.slice(at + 1, end))) return false;
    at = end + 1;
  }
}

function expressionPattern(): RegExp {
  const character = "(?:\\w|%[0-9A-Fa-f]{2})";
  const variable = `${character}(?:\\.?${character})*(?:\\*|:[1-9]\\d{0,3})?`;
  return new RegExp(`^[+#./;?&=,!@|]?${variable}(?:,${variable})*$`);
}

const URL_SCHEME = /^(?:https?|ftp):\/\//iu;

/** A public internet address, or a name whose last label consists of letters. */
const URL_HOST =
  /^(?:(?!(?:10|127)(?:\.\d{1,3}){3})(?!(?:169\.254|192\.168)(?:\.\d{1,3}){2})(?!172\.(?:1[6-9]|2\d|3[0-1])(?:\.\d{1,3}){2})(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.(?:1?\d{1,2}|2[0-4]\d|25[0-5])){2}(?:\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4]))|(?:(?:[a-z0-9\u{a1}-\u{ffff}]+-)*[a-z0-9\u{a1}-\u{ffff}]+)(?:\.(?:[a-z0-9\u{a1}-\u{ffff}]+-)*[a-z0-9\u{a1}-\u{ffff}]+)*(?:\.(?:[a-z\u{a1}-\u{ffff}]{2,})))$/iu;

const URL_PORT = /:\d{2,5}(?=\/|$)/uy;

/**
 * Accepts the same texts as the expression of ajv-formats, in linear time. That expression takes
 * quadratic time, because it tries each colon of the text against each `@`.
 */
export function isUrl(text: string): boolean {
  const start = URL_SCHEME.exec(text)?.[0].length;
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

const URL_HOST_END = /[@:/]/g;

/** A host, optionally a port, and optionally a path without white space. */
function isHostAndPath(text: string, start: number, lastSpace: number): boolean {
  URL_HOST_END.lastIndex = start;
  const found = URL_HOST_END.exec(text);
  if (found?.[0] === "@") return false;
  let at = found === null ? text.length : found.index;
  if (!URL_HOST.test(text.slice(start, at))) return false;
  if (text[at] === ":") {
    URL_PORT.lastIndex = at;
    const port = URL_PORT.exec(text);
    if (port === null) return false;
    at += port[0].length;
  }
  return at === text.length || at > lastSpace;
}
