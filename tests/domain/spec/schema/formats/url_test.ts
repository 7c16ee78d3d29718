/** `format: url` against the regular expression of ajv-formats, which takes quadratic time. */

import assert from "node:assert/strict";
import { fullFormats } from "ajv-formats/dist/formats.js";
import fc from "fast-check";
import { isUrl } from "../../../../../src/domain/spec/schema/formats/url.ts";

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
