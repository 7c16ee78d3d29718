/** `format: email` and `idn-email`: a mailbox according to RFC 5321 or RFC 6531. */

import { isAsciiLabel } from "./hostname.ts";

/** RFC 5321, section 4.5.3.1, in octets. */
const LOCAL_OCTETS_MAX = 64;
const DOMAIN_OCTETS_MAX = 255;
export const MAILBOX_CHARACTERS_MAX = LOCAL_OCTETS_MAX + 1 + DOMAIN_OCTETS_MAX;

const ATOM = /^[\w!#$%&'*+/=?^`{|}~-]+$/;
const IDN_ATOM = /^[\w!#$%&'*+/=?^`{|}~\u{80}-\u{10ffff}-]+$/u;
const QUOTED = /^"(?:[ !#-[\]-~]|\\[ -~])*"$/;
const IDN_QUOTED = /^"(?:[ !#-[\]-~\u{80}-\u{10ffff}]|\\[ -~])*"$/u;
const IDN_LABEL =
  /^[a-z0-9\u{80}-\u{10ffff}](?:[a-z0-9\u{80}-\u{10ffff}-]*[a-z0-9\u{80}-\u{10ffff}])?$/iu;
/** `[IPv6:::1]` or `[127.0.0.1]`; no other kinds are registered. */
const LITERAL = /^\[(?:(IPv6:)([0-9a-f:.]+)|([\d.]+))\]$/i;

/** Tests of addresses in text form. */
export interface AddressTests {
  readonly isIpv4: (text: string) => boolean;
  readonly isIpv6: (text: string) => boolean;
}

export function isEmail(text: string, tests: AddressTests): boolean {
  const at = splitAt(text);
  return at !== undefined && isLocal(at.local, ATOM, QUOTED) &&
    (isLiteral(at.domain, tests) || at.domain.split(".").every(isAsciiLabel));
}

export function isIdnEmail(text: string, tests: AddressTests): boolean {
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
  const literal = LITERAL.exec(domain);
  if (literal === null) return false;
  return literal[1] === undefined ? isIpv4(literal[3]!) : isIpv6(literal[2]!);
}
