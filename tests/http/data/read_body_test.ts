/** Bodies of reads are JSON whatever the embedded texts contain. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  aggregateBody,
  aggregatePageBody,
  eventPageBody,
} from "../../../src/http/data/read_body.ts";
import { fakeHost } from "../../support/fake_host.ts";

const host = fakeHost();

Deno.test("eventPageBody() with raw gives back the stored text to the last character", () => {
  return fc.assert(
    fc.asyncProperty(fc.array(fc.json()), async (texts) => {
      const entries = texts.map((raw, index) => ({ id: String(index), hash: "00", raw }));
      const page = { entries, countLimit: 500, countClamped: false, truncated: false };
      const raw = JSON.parse((await eventPageBody(page, true, host)).join("")).data;
      assert.deepEqual(raw.map((entry: { raw: string }) => entry.raw), texts);
      const decoded = JSON.parse((await eventPageBody(page, false, host)).join("")).data;
      assert.deepEqual(decoded.map((entry: { event: unknown }) => entry.event), texts.map(parse));
    }),
  );
});

function parse(text: string): unknown {
  return JSON.parse(text);
}

Deno.test("aggregateBody() puts the state in as it is", () => {
  const view = { dataJson: '{"a":1.0}', length: 2, createdAt: 1, updatedAt: null };
  assert.equal(
    aggregateBody(view).join(""),
    '{"ok":true,"data":{"a":1.0},"metadata":{"length":2,"created_at":1,"updated_at":null}}',
  );
});

Deno.test("aggregatePageBody() of nothing is an empty list", () => {
  const page = { entries: [], limit: 50, limitClamped: false, truncated: false };
  const empty = { ok: true, data: [], limit: 50, truncated: false };
  assert.deepEqual(JSON.parse(aggregatePageBody(page, true).join("")), empty);
  assert.deepEqual(JSON.parse(aggregatePageBody(page, false).join("")), empty);
});
