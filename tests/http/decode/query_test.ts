/** Flags, counts and seconds; unusable values are 400. See docs/reference/reading.md. */

import assert from "node:assert/strict";
import {
  decodePageQuery,
  readCount,
  readFlag,
  readSeconds,
} from "../../../src/http/decode/query.ts";

function query(text: string): URLSearchParams {
  return new URLSearchParams(text);
}

Deno.test("readFlag() takes true, 1 and empty as true, false and 0 as false, absent as false", () => {
  for (const text of ["f", "f=", "f=true", "f=1"]) {
    assert.deepEqual(readFlag(query(text), "f"), { ok: true, value: true });
  }
  for (const text of ["", "f=false", "f=0", "g"]) {
    assert.deepEqual(readFlag(query(text), "f"), { ok: true, value: false });
  }
  for (const text of ["f=yes", "f=True", "f=2", "f=+1"]) assert.ok(!readFlag(query(text), "f").ok);
});

Deno.test("readCount() takes positive decimal integers of any size", () => {
  assert.deepEqual(readCount(query("n=1"), "n"), { ok: true, value: 1 });
  assert.deepEqual(readCount(query("n=00012"), "n"), { ok: true, value: 12 });
  assert.ok(readCount(query("n=" + "9".repeat(400)), "n").ok);
  for (const text of ["0", "000", "-1", "1.0", "1e2", "0x1", " 1", "", "NaN", "١"]) {
    assert.ok(!readCount(new URLSearchParams({ n: text }), "n").ok, text);
  }
});

Deno.test("readSeconds() takes 0 and refuses what no safe integer holds", () => {
  assert.deepEqual(readSeconds(query("at=0"), "at"), { ok: true, value: 0 });
  assert.deepEqual(readSeconds(query(""), "at"), { ok: true, value: undefined });
  assert.ok(!readSeconds(query("at=9007199254740992"), "at").ok);
});

Deno.test("decodePageQuery() prefers start to its older name cursor", () => {
  assert.deepEqual(decodePageQuery(query("cursor=a&start=b")), {
    ok: true,
    value: { limit: undefined, start: "b" },
  });
});

Deno.test("decodePageQuery() takes an empty start for none", () => {
  for (const text of ["start=", "cursor=", "start=&cursor="]) {
    assert.deepEqual(decodePageQuery(query(text)), {
      ok: true,
      value: { limit: undefined, start: undefined },
    });
  }
});
