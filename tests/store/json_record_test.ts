/** Small records as JSON text. */

import { deepEqual, equal } from "node:assert/strict";
import fc from "fast-check";
import { decodeRecord, encodeRecord } from "../../src/store/json_record.ts";

Deno.test("encodeRecord() writes JSON text in UTF-8", () => {
  equal(encodeRecord({ a: "é" }).toHex(), "7b2261223a22c3a9227d");
});

Deno.test("decodeRecord() gives back what encodeRecord() was given", () => {
  const values = fc.oneof(fc.string({ unit: "binary" }), fc.integer(), fc.boolean());
  fc.assert(fc.property(fc.dictionary(fc.string(), values), (record) => {
    deepEqual(decodeRecord(encodeRecord(record)), { ...record });
  }));
});
