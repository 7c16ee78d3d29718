/** Host names: RFC 1123, and RFC 5890 to 5893 beyond what the official suite covers. */

import assert from "node:assert/strict";
import {
  isHostname,
  isIdnHostname,
  isPlainName,
} from "../../../../../src/domain/spec/schema/formats/hostname.ts";

const HOST_NAMES = ["a", "example.com", "EXAMPLE.com", "1.2.3.4", "a--b", "xn--r8jz45g.xn--zckzah"];
const IDN_ONLY = ["例え.テスト", "bücher.example", "παράδειγμα。com", "אב1.גד"];
const NEITHER = [
  "",
  "a b",
  "a_b",
  "a..b",
  "-a",
  "a-",
  "a\n",
  "xn--",
  "xn--a",
  "xn--zckzah-",
  "BÜcher",
  "a\u00adb",
  "½",
  "①",
  "é-",
  "ab--é",
  "אa",
  "1א",
  "ـא",
];

for (const name of HOST_NAMES) {
  Deno.test(`${name} is a host name, international or not`, () => {
    assert(isHostname(name));
    assert(isIdnHostname(name));
  });
}

for (const name of IDN_ONLY) {
  Deno.test(`${name} is an international host name only`, () => {
    assert(!isHostname(name));
    assert(isIdnHostname(name));
  });
}

for (const name of NEITHER) {
  Deno.test(`${JSON.stringify(name)} is no host name`, () => {
    assert(!isHostname(name));
    assert(!isIdnHostname(name));
  });
}

Deno.test("a name has at most 253 characters as it is sent, a label 63", () => {
  const name = `${"a".repeat(63)}.`.repeat(3);
  assert(isHostname(name + "b".repeat(61)));
  assert(!isHostname(name + "b".repeat(62)));
  assert(!isHostname("a".repeat(64)));
  // "é" takes more room in its encoded form.
  assert(isIdnHostname(name + "é".repeat(30)));
  assert(!isIdnHostname(name + "é".repeat(60)));
});

Deno.test("plain names are those that need no tables", () => {
  for (const name of ["a.b", "a b", ""]) assert(isPlainName(name), name);
  for (const name of ["é", "a.XN--a"]) assert(!isPlainName(name), name);
});
