/**
 * `format: uri`, `uri-reference`, `iri` and `iri-reference`: RFC 3986 and RFC 3987.
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
