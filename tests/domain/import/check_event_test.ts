/** Every line of an import is checked like a write. See docs/reference/imports.md. */

import assert from "node:assert/strict";
import { checkImportedEvent } from "../../../src/domain/import/check_event.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { exampleSpec } from "../../support/example_spec.ts";
import { uuid } from "../../support/service_fixture.ts";

const compiled = compileSpec(exampleSpec);
assert.ok(compiled.ok);
const { spec } = compiled;

const METADATA = { actor: { type: "user", id: "global" }, timestamp: 1_000_000_000 };
const EVENT: JsonObject = {
  key: `order:${uuid(1)}`,
  type: "was_noted",
  data: { text: "a" },
  metadata: METADATA,
};

Deno.test("an event is stored in canonical form, with the metadata fields in their order and its own time", () => {
  const target = { type: "customer", id: "abcdilo0u" };
  const metadata = { timestamp: 5, target, actor: { id: uuid(10).toUpperCase(), type: "admin" } };
  const key = `order:${uuid(1).toUpperCase()}:tag`;
  const checked = checkImportedEvent(
    { metadata, data: { text: "b" }, key, type: "was_noted" },
    spec,
  );
  assert.ok(checked.ok);
  const { event, timestamp, id } = checked.value;
  assert.equal(
    event.raw,
    `{"key":"order:${uuid(1)}:tag","type":"was_noted","data":{"text":"b"},"metadata":` +
      `{"actor":{"type":"admin","id":"${uuid(10)}"},` +
      `"target":{"type":"customer","id":"ABCD1100V"},"timestamp":5}}`,
  );
  assert.deepEqual([timestamp, id], [5, `${uuid(1)}:tag`]);
});

function metadata(change: object): JsonObject {
  return { metadata: { ...METADATA, ...change } };
}

const REFUSED: readonly [name: string, change: JsonObject, kind: string, path?: string][] = [
  ["a field that is none", { id: 1 }, "bad_request", "id"],
  ["a key that is no text", { key: 7 }, "bad_request", "key"],
  ["a type that is no text", { type: null }, "bad_request", "type"],
  ["a key without a type", { key: uuid(1) }, "identifier_invalid", "key"],
  ["a key without an id", { key: "order:" }, "identifier_invalid", "key"],
  ["an id that is no identifier", { key: "order:nobody" }, "identifier_invalid", "key"],
  ["an unknown aggregate type", { key: "ordr:global" }, "aggregate_type_unknown"],
  ["an unknown event type", { type: "was_eaten" }, "event_type_unknown"],
  ["a reserved event type", { type: "_was_tombstoned" }, "event_type_reserved"],
  ["data that are no object", { data: [] }, "bad_request", "data"],
  ["data against their schema", { data: { text: 1 } }, "schema_validation"],
  ["data that are too large", { data: { text: "", x: "x".repeat(102_400) } }, "payload_too_large"],
  ["no actor", { metadata: { timestamp: 1 } }, "bad_request", "metadata.actor"],
  [
    "an actor type that is none",
    metadata({ actor: { type: "x", id: "global" } }),
    "metadata_invalid",
  ],
  ["no timestamp", { metadata: { actor: METADATA.actor } }, "bad_request", "metadata.timestamp"],
  ["a timestamp below 0", metadata({ timestamp: -1 }), "metadata_invalid", "metadata.timestamp"],
  [
    "a fraction of a second",
    metadata({ timestamp: 1.5 }),
    "metadata_invalid",
    "metadata.timestamp",
  ],
  ["a guard", metadata({ previous_length: 0 }), "metadata_invalid", "metadata.previous_length"],
  ["a guard left off", metadata({ skip_occ: false }), "metadata_invalid", "metadata.skip_occ"],
  ["a stamped field", metadata({ saga: {} }), "metadata_invalid", "metadata.saga"],
  ["an unknown field of metadata", metadata({ by: 1 }), "metadata_invalid", "metadata.by"],
];

for (const [name, change, kind, path] of REFUSED) {
  Deno.test(`an event with ${name} is refused`, () => {
    const checked = checkImportedEvent({ ...EVENT, ...change }, spec);
    assert.ok(!checked.ok);
    assert.equal(checked.refusal.kind, kind);
    if (path !== undefined) assert.equal((checked.refusal as { path?: string }).path, path);
  });
}

for (const field of Object.keys(EVENT)) {
  Deno.test(`an event without ${field} is refused with that path`, () => {
    const { [field]: _, ...rest } = EVENT;
    const checked = checkImportedEvent(rest, spec);
    assert.ok(!checked.ok && checked.refusal.kind === "bad_request");
    assert.equal(checked.refusal.path, field);
  });
}

Deno.test("the platform's own importer may be the actor", () => {
  const actor = { type: "system_agent", id: "test_data_importer" };
  assert.ok(checkImportedEvent({ ...EVENT, ...metadata({ actor }) }, spec).ok);
});

Deno.test("where an event is from is stored last, with its fields in their order", () => {
  const origin = { position: "7", id: "a", source: "elsewhere", time: "2024-03-01", stream: "s" };
  const checked = checkImportedEvent({ ...EVENT, ...metadata({ origin }) }, spec);
  assert.ok(checked.ok);
  const { event } = checked.value;
  const stored = `"origin":{"source":"elsewhere","stream":"s","id":"a","time":"2024-03-01",` +
    `"position":"7"}}}`;
  assert.ok(event.raw.endsWith(stored), event.raw);
});

for (
  const [origin, path] of [
    ["x", "metadata.origin"],
    [{ id: "a" }, "metadata.origin.source"],
    [{ source: "a", by: "b" }, "metadata.origin.by"],
    [{ source: "a", position: 7 }, "metadata.origin.position"],
    [{ source: "x".repeat(1_025) }, "metadata.origin.source"],
  ] as const
) {
  Deno.test(`an origin of ${JSON.stringify(origin).slice(0, 40)} is refused at ${path}`, () => {
    const checked = checkImportedEvent({ ...EVENT, ...metadata({ origin }) }, spec);
    assert.ok(!checked.ok && "path" in checked.refusal);
    assert.deepEqual([checked.refusal.kind, checked.refusal.path], ["metadata_invalid", path]);
  });
}
