/** Paths taken apart: decoded once, segment by segment. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { parseAddress } from "../../../src/http/decode/path.ts";

const CASES: readonly (readonly [url: string, host: string, segments: string[], query: string])[] =
  [
    ["http://a/", "a", [""], ""],
    ["http://a", "a", [""], ""],
    ["http://a?x=1", "a", [""], "x=1"],
    ["https://A.Example.COM:8443/b/c?d=/e?f#g", "a.example.com", ["b", "c"], "d=/e?f"],
    ["http://[::1]:8000/b", "[::1]", ["b"], ""],
    ["http://a./b/", "a", ["b", ""], ""],
    ["http://a/b%2Fc/%2541/%C3%A9", "a", ["b/c", "%41", "é"], ""],
    ["http://a/b#c?d", "a", ["b"], ""],
  ];

for (const [url, host, segments, query] of CASES) {
  Deno.test(`parseAddress() of ${url}`, () => {
    assert.deepEqual(parseAddress(url), { host, segments, query });
  });
}

Deno.test("parseAddress() gives no segments where the percent-encoding is broken", () => {
  for (const path of ["%", "%2", "%zz", "%ff", "%E0%A4%A", "a/%C3/b"]) {
    assert.equal(parseAddress(`http://a/${path}`).segments, undefined);
  }
});

Deno.test("parseAddress() gives back any segments that were encoded", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" }), { minLength: 1 }), (segments) => {
      const encoded = segments.map(encodeURIComponent).join("/");
      assert.deepEqual(parseAddress(`http://a/${encoded}?q`).segments, segments);
    }),
  );
});
