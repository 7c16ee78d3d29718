/** E-mail addresses: the mailboxes of RFC 5321 and RFC 6531. */

import assert from "node:assert/strict";
import { TEXT_FORMATS } from "../../../../../src/domain/spec/schema/formats/formats.ts";

const isEmail = TEXT_FORMATS.get("email")!;
const isIdnEmail = TEXT_FORMATS.get("idn-email")!;

const BOTH = [
  "joe@example.com",
  "joe@localhost",
  "a.b+c=d@x-y.example",
  `"joe \\" @ bloggs"@example.com`,
  `""@example.com`,
  "joe@[192.0.2.1]",
  "joe@[IPv6:2001:db8::1]",
  `${"a".repeat(64)}@example.com`,
];
const IDN_ONLY = ["δοκιμή@παράδειγμα.com", `"é"@example.com`, "joe@例え.テスト"];
const NEITHER = [
  "joe",
  "@example.com",
  "joe@",
  "joe@@example.com",
  "joe@a@b",
  ".joe@example.com",
  "joe.@example.com",
  "j..b@example.com",
  "joe b@example.com",
  `"joe@example.com`,
  `"joe"b@example.com`,
  `"a"b"@example.com`,
  "joe@-a.com",
  "joe@a-.com",
  "joe@a..com",
  "joe@a_b.com",
  "joe@[192.0.2.300]",
  "joe@[2001:db8::1]",
  "joe@[IPv6:192.0.2.1]",
  "joe@[]",
  "joe@example.com\n",
  `${"a".repeat(65)}@example.com`,
  `joe@${"a.".repeat(130)}com`,
];

for (const address of BOTH) {
  Deno.test(`${address} is an e-mail address, international or not`, () => {
    assert(isEmail(address));
    assert(isIdnEmail(address));
  });
}

for (const address of IDN_ONLY) {
  Deno.test(`${address} is an international e-mail address only`, () => {
    assert(!isEmail(address));
    assert(isIdnEmail(address));
  });
}

for (const address of NEITHER) {
  Deno.test(`${JSON.stringify(address)} is no e-mail address`, () => {
    assert(!isEmail(address));
    assert(!isIdnEmail(address));
  });
}
