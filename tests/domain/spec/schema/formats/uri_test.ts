/** URIs and IRIs: the examples of RFC 3986 and RFC 3987, and what these grammars exclude. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { TEXT_FORMATS } from "../../../../../src/domain/spec/schema/formats/formats.ts";

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
