/**
 * The values of `format`, all of which are asserted.
 *
 * Most tests come from ajv-formats. Each is guarded by the longest text the format allows, so
 * that no regular expression runs over a hostile text of 100 KB. Every test takes linear time.
 */

import { fullFormats } from "ajv-formats/dist/formats.js";
import { isAsciiLabel, isHostname, isIdnHostname } from "./hostname.ts";
import { isUri, isUriTemplate, isUrl, type UriForm } from "./uri.ts";
import { createRecentTexts } from "../../../recent_map.ts";

type Test = (text: string) => boolean;

const REGEX_CHARACTERS_MAX = 2_000;
const URI_CHARACTERS_MAX = 8_192;

/** The longest valid text in characters, from the format's own rules if it has any. */
const LONGEST: ReadonlyMap<string, number> = new Map([
  ["date", 10],
  ["iso-time", 64],
  ["iso-date-time", 80],
  ["ipv4", 15],
  ["ipv6", 45],
  ["url", 2_048],
  ["json-pointer", 102_400],
  ["json-pointer-uri-fragment", 102_400],
  ["relative-json-pointer", 102_400],
]);

const addresses = { isIpv4: guarded("ipv4", 15), isIpv6: guarded("ipv6", 45) };

/**
 * Every known text format with its test. Formats of numbers and opaque formats are not
 * included.
 */
export const TEXT_FORMATS: ReadonlyMap<string, Test> = new Map<string, Test>([
  ...[...LONGEST].map(([name, longest]): [string, Test] => [name, guarded(name, longest)]),
  ["time", (text) => text.length <= 64 && isTime(text)],
  ["date-time", isDateTime],
  ["duration", isDuration],
  ["hostname", isHostname],
  ["idn-hostname", isIdnHostname],
  ["email", (text) => isEmail(text, addresses)],
  ["idn-email", (text) => isIdnEmail(text, addresses)],
  ["uri", uriTest({ isInternational: false, mayBeRelative: false })],
  ["uri-reference", uriTest({ isInternational: false, mayBeRelative: true })],
  ["iri", uriTest({ isInternational: true, mayBeRelative: false })],
  ["iri-reference", uriTest({ isInternational: true, mayBeRelative: true })],
  ["uri-template", (text) => text.length <= URI_CHARACTERS_MAX && isUriTemplate(text)],
  ["uuid", (text) => UUID.test(text)],
  ["regex", (text) => text.length <= REGEX_CHARACTERS_MAX && isRegularExpression(text)],
  ["byte", isBase64],
]);

/** Formats of numbers. */
export const NUMBER_FORMATS: ReadonlyMap<string, (value: number) => boolean> = new Map<
  string,
  (value: number) => boolean
>([
  ["int32", (value) => Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31],
  ["int64", (value) => Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63],
  ["float", () => true],
  ["double", () => true],
]);

/** Formats that say how to display a text, not what it may contain. */
export const OPAQUE_FORMATS: readonly string[] = ["password", "binary"];

export const FORMAT_NAMES: ReadonlySet<string> = new Set([
  ...TEXT_FORMATS.keys(),
  ...NUMBER_FORMATS.keys(),
  ...OPAQUE_FORMATS,
]);

function guarded(name: string, longest: number): Test {
  const test = testOf(name);
  return (text) => text.length <= longest && test(text);
}

function uriTest(form: UriForm): Test {
  return (text) => text.length <= URI_CHARACTERS_MAX && isUri(text, form, addresses.isIpv6);
}

function testOf(name: string): Test {
  if (name === "url") return isUrl;
  const format: unknown = (fullFormats as Record<string, unknown>)[name];
  const validate = format instanceof RegExp || typeof format === "function"
    ? format
    : (format as { validate: RegExp | Test }).validate;
  return validate instanceof RegExp ? (text) => validate.test(text) : validate as Test;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const TIME = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i;
const isDate = testOf("date");
const DURATION = durationPattern();

/** RFC 3339 `full-time`; second 60 only where a leap second is possible, at 23:59 UTC. */
function isTime(text: string): boolean {
  const parts = TIME.exec(text);
  if (parts === null) return false;
  const [hour, minute, second] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  const [offsetHour, offsetMinute] = [Number(parts[5] ?? 0), Number(parts[6] ?? 0)];
  if (hour > 23 || minute > 59 || offsetHour > 23 || offsetMinute > 59) return false;
  if (second < 60) return true;
  const offset = (offsetHour * 60 + offsetMinute) * (parts[4] === "-" ? -1 : 1);
  const minuteOfDay = (hour * 60 + minute - offset + 2 * 1440) % 1440;
  return second === 60 && minuteOfDay === 1439;
}

/** RFC 3339 `date-time`. */
function isDateTime(text: string): boolean {
  if (text.length > 80 || !/^.{10}t/i.test(text)) return false;
  return isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

/** RFC 3339 appendix A: units in order without gaps, or weeks alone. */
function isDuration(text: string): boolean {
  return text.length <= 128 && DURATION.test(text);
}

function durationPattern(): RegExp {
  const time = "T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)";
  const date = "(?:\\d+Y(?:\\d+M(?:\\d+D)?)?|\\d+M(?:\\d+D)?|\\d+D)";
  return new RegExp(`^P(?:\\d+W|${date}(?:${time})?|${time})$`);
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

/** RFC 5321, section 4.5.3.1, in octets. */
const LOCAL_OCTETS_MAX = 64;
const DOMAIN_OCTETS_MAX = 255;
const MAILBOX_CHARACTERS_MAX = LOCAL_OCTETS_MAX + 1 + DOMAIN_OCTETS_MAX;

const ATOM = /^[\w!#$%&'*+/=?^`{|}~-]+$/;
const IDN_ATOM = /^[\w!#$%&'*+/=?^`{|}~\u{80}-\u{10ffff}-]+$/u;
const QUOTED = /^"(?:[ !#-[\]-~]|\\[ -~])*"$/;
const IDN_QUOTED = /^"(?:[ !#-[\]-~\u{80}-\u{10ffff}]|\\[ -~])*"$/u;
const IDN_LABEL =
  /^[a-z0-9\u{80}-\u{10ffff}](?:[a-z0-9\u{80}-\u{10ffff}-]*[a-z0-9\u{80}-\u{10ffff}])?$/iu;
/** `[IPv6:::1]` or `[127.0.0.1]`; no other kinds are registered. */
const ADDRESS_LITERAL = /^\[(?:(IPv6:)([0-9a-f:.]+)|([\d.]+))\]$/i;

/** Tests of addresses in text form. */
interface AddressTests {
  readonly isIpv4: (text: string) => boolean;
  readonly isIpv6: (text: string) => boolean;
}

/** A mailbox according to RFC 5321; `isIdnEmail` also accepts those of RFC 6531. */
function isEmail(text: string, tests: AddressTests): boolean {
  const at = splitAt(text);
  return at !== undefined && isLocal(at.local, ATOM, QUOTED) &&
    (isLiteral(at.domain, tests) || at.domain.split(".").every(isAsciiLabel));
}

function isIdnEmail(text: string, tests: AddressTests): boolean {
  const at = splitAt(text);
  return at !== undefined && isLocal(at.local, IDN_ATOM, IDN_QUOTED) &&
    (isLiteral(at.domain, tests) || at.domain.split(".").every((label) => IDN_LABEL.test(label)));
}

const ENCODER = new TextEncoder();

/** Splits at the last `@`; an earlier one is quoted, or a fault of the local part. */
function splitAt(text: string): { readonly local: string; readonly domain: string } | undefined {
  if (text.length > MAILBOX_CHARACTERS_MAX) return undefined;
  const at = text.lastIndexOf("@");
  if (at === -1) return undefined;
  const [local, domain] = [text.slice(0, at), text.slice(at + 1)];
  const isShort = ENCODER.encode(local).length <= LOCAL_OCTETS_MAX &&
    ENCODER.encode(domain).length <= DOMAIN_OCTETS_MAX;
  return isShort ? { local, domain } : undefined;
}

function isLocal(local: string, atom: RegExp, quoted: RegExp): boolean {
  return local.startsWith('"')
    ? quoted.test(local)
    : local.split(".").every((part) => atom.test(part));
}

function isLiteral(domain: string, { isIpv4, isIpv6 }: AddressTests): boolean {
  const literal = ADDRESS_LITERAL.exec(domain);
  if (literal === null) return false;
  return literal[1] === undefined ? isIpv4(literal[3]!) : isIpv6(literal[2]!);
}

/** More than the language has: most names asked for exist. */
const KNOWN_MAX = 1_000;
const known = createRecentTexts<boolean>(KNOWN_MAX);

const PROPERTY = /\\[pP]\{([A-Za-z0-9_=]{1,60})\}/y;
/** Maximum properties in one text; looking one up takes a few microseconds. */
const PROPERTIES_MAX = 50;

/**
 * Whether a text is an ECMA-262 regular expression, read with the `u` flag. The language itself
 * decides. It would expand each Unicode property to hundreds of ranges, so each distinct one is
 * looked up once and replaced by `\\d` in the text that the language reads.
 */
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
