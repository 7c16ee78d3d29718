/** URIs and IRIs: the examples of RFC 3986 and RFC 3987, and what these grammars exclude. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { TEXT_FORMATS } from "../../../../../src/domain/spec/schema/formats/formats.ts";
import { isUriTemplate, isUrl } from "../../../../../src/domain/spec/schema/formats/uri.ts";
import { fullFormats } from "ajv-formats/dist/formats.js";

function test(name: string): (text: string) => boolean {
  return TEXT_FORMATS.get(name)!;
}

/** RFC 3986, section 1.1.2, and others. */
const URIS = [
  "ftp://ftp.is.co.za/rfc/rfc1808.txt",
  "ldap://[2001:db8::7]/c=GB?objectClass?one",
  "mailto:John.Doe@example.com",
  "news:comp.infosystems.www.servers.unix",
  "tel:+1-816-555-1212",
  "telnet://192.0.2.16:80/",
  "urn:oasis:names:specification:docbook:dtd:xml:4.1.2",
  "http://a:b%40@[v1.a:b]:/?a/?#b/?",
  "a:",
];
const REFERENCES = ["", "?", "#", "a", "./a:b", "//a", "/a//b", "a/b:c", "?a:b#c"];
const NO_REFERENCES = [
  "a b",
  "%",
  "%4",
  "%4g",
  "1a:b",
  ":a",
  "//a:b",
  "//[::1",
  "//[::1]a",
  "//[::g]",
  "//[v.a]",
  "//a@b@c",
  "/[",
  "#a#b",
  "?[",
  "\\",
  "a\n",
  "^",
];

for (const uri of URIS) {
  Deno.test(`${uri} is a URI, and so all that may be less`, () => {
    for (const name of ["uri", "uri-reference", "iri", "iri-reference"]) {
      assert(test(name)(uri), name);
    }
  });
}

for (const reference of REFERENCES) {
  Deno.test(`${JSON.stringify(reference)} is a reference without a scheme`, () => {
    for (const name of ["uri-reference", "iri-reference"]) assert(test(name)(reference), name);
    for (const name of ["uri", "iri"]) assert(!test(name)(reference), name);
  });
}

for (const text of NO_REFERENCES) {
  Deno.test(`${JSON.stringify(text)} is no reference`, () => {
    for (const name of ["uri", "uri-reference", "iri", "iri-reference"]) {
      assert(!test(name)(text), name);
    }
  });
}

Deno.test("characters beside ASCII stand in IRIs only, private ones in their queries only", () => {
  for (const iri of ["http://é.例/é?é#é", "a:\u{e1000}", "a:?\ue000\u{10fffd}"]) {
    assert(test("iri")(iri), iri);
    assert(!test("uri")(iri), iri);
  }
  for (const text of ["a:\ue000", "a:#\ue000", "a:\ufdd0", "a:\u{1fffe}", "a:\ud800"]) {
    assert(!test("iri")(text), JSON.stringify(text));
  }
});

Deno.test("what the platform writes as a URL is a URI, where it has no brackets of its own", () => {
  fc.assert(
    fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (text) => {
      assert(test("uri")(text), text);
    }),
  );
});

/** URI templates: the examples of RFC 6570, section 1.2, and what its grammar excludes. */
const TEMPLATES = [
  "http://example.com/~{username}/",
  "{+path}/here",
  "map?{x,y}",
  "{+x,hello,y}",
  "{#path:6}here",
  "X{.x,y}",
  "{/var:1,var}",
  "{;x,y,empty}",
  "{?list*}",
  "{&keys*}",
  "a%20b{a.b_c%41:9999}",
  "",
];
const NO_TEMPLATES = [
  "{",
  "}",
  "{}",
  "{a",
  "a}",
  "{{a}}",
  "{a}}",
  "{a:0}",
  "{a:10000}",
  "{a*:1}",
  "{a b}",
  "{.}",
  "{a.}",
  "%",
  "a b",
  "<",
  "\\",
  "`",
  "\ud800",
];

for (const text of TEMPLATES) {
  Deno.test(`${JSON.stringify(text)} is a URI template`, () => assert(isUriTemplate(text)));
}

for (const text of NO_TEMPLATES) {
  Deno.test(`${JSON.stringify(text)} is no URI template`, () => assert(!isUriTemplate(text)));
}

/** `format: url` against the regular expression of ajv-formats, which takes quadratic time. */
const EXPRESSION = fullFormats.url as RegExp;

Deno.test("isUrl() takes what the expression of ajv-formats takes, and nothing else", () => {
  const piece = fc.constantFrom(
    ..."http:// https:// ftp:// HTTPS:// a b.c a.bc example.com x-y.org - . : @ / ? # 80 :8080 :1 "
      .split(" "),
    ...[
      "10.1.2.3",
      "127.0.0.1",
      "172.16.0.1",
      "192.168.0.1",
      "8.8.8.8",
      "223.255.255.254",
      "1.2.3.0",
    ],
    ...[
      " ",
      "\t",
      "\u3000",
      "\u00e9",
      "\u00e9.\u00e9\u00e9",
      "\ud83d\ude00",
      "\ud83d",
      "\u017f",
      "user:pass@",
    ],
  );
  const text = fc.array(piece, { maxLength: 9 }).map((pieces) => pieces.join(""));
  const likely = text.map((rest) => `http://${rest}`);
  fc.assert(
    fc.property(fc.oneof(text, likely), (sample) => {
      assert.equal(isUrl(sample), EXPRESSION.test(sample), JSON.stringify(sample));
    }),
    { numRuns: 20_000 },
  );
});

Deno.test("isUrl() tries each @ of the text once", () => {
  assert(!isUrl(`http://${"a:@".repeat(600)}`));
  assert(!isUrl(`http://a.bc/${":".repeat(2_030)} `));
  assert(isUrl(`http://${"a:@".repeat(600)}a.bc/x`));
});
