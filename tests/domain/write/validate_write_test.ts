/**
 * The checks before a write is stored, in the order types, id, metadata, data. See
 * docs/reference/writing.md.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import type { Refusal } from "../../../src/domain/refusal.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { validateWrite } from "../../../src/domain/write/validate_write.ts";
import type { RequestedTarget, WriteRequest } from "../../../src/domain/write/write.ts";
import { exampleSpec } from "../../support/example_spec.ts";

const compiled = compileSpec(exampleSpec);
assert.ok(compiled.ok);
const spec = compiled.spec;

const id = "5b3e1a7c-9d24-4f6a-8b1e-0c2d3e4f5a6b";
const other = "5b3e1a7c-9d24-4f6a-8b1e-0c2d3e4f5a6c";
const actor = { type: "user", id: "global" };
const placed = { type: "was_placed", data: { customer: "Ann" } };
const noted = { type: "was_noted", data: { text: "call back" } };
const target: RequestedTarget = { aggregateType: "order", id, events: [placed] };

function write(change: Partial<WriteRequest>): WriteRequest {
  return { form: "single", targets: [target], metadata: { actor }, requestId: "r-1", ...change };
}

function refusalOf(request: WriteRequest): Refusal {
  const outcome = validateWrite(request, spec, "test");
  assert.ok(!outcome.ok, "accepted");
  return JSON.parse(JSON.stringify(outcome.refusal));
}

function single(events: RequestedTarget["events"], change: Partial<RequestedTarget> = {}) {
  return write({ targets: [{ ...target, events, ...change }] });
}

Deno.test("validateWrite() gives the canonical stream, and the data as it was sent and as JSON text", () => {
  const request = single([placed], { id: id.toUpperCase() });
  const outcome = validateWrite(request, spec, "test");
  assert.ok(outcome.ok);
  assert.deepEqual(outcome.value.targets, [{
    key: `order:${id}`,
    aggregateType: "order",
    id,
    expected: "any",
    events: [{ type: "was_placed", data: { customer: "Ann" }, dataJson: '{"customer":"Ann"}' }],
  }]);
});

Deno.test("validateWrite() refuses an unknown aggregate type before anything else", () => {
  const request = write({
    targets: [{ aggregateType: "parcel", id: "?", events: [{ type: "_x", data: 1 }] }],
    metadata: undefined,
  });
  assert.deepEqual(refusalOf(request), { kind: "aggregate_type_unknown", aggregateType: "parcel" });
});

Deno.test("validateWrite() refuses an unknown event type before a malformed id", () => {
  assert.deepEqual(refusalOf(single([{ type: "was_lost", data: {} }], { id: "?" })), {
    kind: "event_type_unknown",
    aggregateType: "order",
    eventType: "was_lost",
  });
});

Deno.test("validateWrite() does not find event types on the prototype of anything", () => {
  for (const type of ["constructor", "hasOwnProperty", "toString"]) {
    assert.equal(refusalOf(single([{ type, data: {} }])).kind, "event_type_unknown");
  }
});

Deno.test("validateWrite() refuses system event types, declared or not", () => {
  for (const type of ["_was_tombstoned", "_anything", "_"]) {
    assert.deepEqual(refusalOf(single([{ type, data: {} }])), { kind: "event_type_reserved" });
  }
});

Deno.test("validateWrite() refuses a malformed id with the path key before the metadata", () => {
  const request = { ...single([placed], { id: "7" }), metadata: undefined };
  const refusal = refusalOf(request);
  assert.equal(refusal.kind, "identifier_invalid");
  assert.equal("path" in refusal && refusal.path, "key");
});

Deno.test("validateWrite() refuses metadata before data", () => {
  const request = { ...single([{ type: "was_placed", data: 5 }]), metadata: { actor, foo: 1 } };
  assert.equal(refusalOf(request).kind, "metadata_invalid");
});

Deno.test("validateWrite() refuses absent data of a single write, and data that is no object", () => {
  const bad = { kind: "bad_request", path: "data" };
  assert.deepEqual(refusalOf(single([{ type: "was_placed", data: undefined }])), {
    ...bad,
    message: "data is required",
  });
  for (const data of [null, [], "x", 1, true]) {
    assert.deepEqual(refusalOf(single([{ type: "was_placed", data }])), {
      ...bad,
      message: "data must be an object",
    });
  }
});

Deno.test("validateWrite() reads absent data of batch and atomic writes as an empty object", () => {
  for (const form of ["batch", "atomic"] as const) {
    const events = [{ type: "was_viewed", data: undefined }];
    const outcome = validateWrite({ ...single(events), form }, spec, "test");
    assert.ok(outcome.ok);
    assert.equal(outcome.value.targets[0]!.events[0]!.dataJson, "{}");
  }
});

Deno.test("validateWrite() takes 102,400 bytes of data and refuses one byte more", () => {
  const around = JSON.stringify({ a: "" }).length;
  const fits = { type: "was_viewed", data: { a: "x".repeat(102_400 - around) } };
  assert.ok(validateWrite(single([fits]), spec, "test").ok);
  const over = { type: "was_viewed", data: { a: "x".repeat(102_400 - around + 1) } };
  const refusal = refusalOf(single([over]));
  assert.equal(refusal.kind, "payload_too_large");
  assert.equal("limit" in refusal && refusal.limit, 102_400);
});

Deno.test("validateWrite() refuses what is surely too long without making its text", () => {
  function unread(): never {
    assert.fail("a value was read");
  }
  const list = new Proxy(Array.from({ length: 60_000 }, () => 0), {
    get: (items, name) => name === "length" ? items.length : unread(),
  });
  const refusal = refusalOf(single([{ type: "was_viewed", data: { list } }]));
  assert.equal(refusal.kind, "payload_too_large");
  const preconditions = [{ key: `order:${id}`, require: list }];
  const asked = { ...single([{ type: "was_viewed", data: {} }]), preconditions };
  const outcome = validateWrite(asked, spec, "test");
  assert.match(JSON.stringify(outcome), /require must have at most 4096 characters of JSON/);
});

Deno.test("validateWrite() counts the data's bytes, not its characters", () => {
  // Eight bytes for the JSON around the text, three for each euro sign.
  const euros = (count: number) => ({ type: "was_viewed", data: { a: "€".repeat(count) } });
  assert.ok(validateWrite(single([euros(34_130)]), spec, "test").ok);
  assert.equal(refusalOf(single([euros(34_131)])).kind, "payload_too_large");
});

Deno.test("validateWrite() gives the faults of data with their dotted paths", () => {
  const refusal = refusalOf(single([{ type: "was_paid", data: { amount: "12" } }]));
  assert.equal(refusal.kind, "schema_validation");
  assert.equal("faults" in refusal && refusal.faults[0]!.path, "data.amount");
});

Deno.test("validateWrite() names the event of a batch that is at fault", () => {
  const events = [placed, noted, { type: "was_paid", data: {} }];
  const refusal = refusalOf({ ...single(events), form: "batch" });
  assert.equal("eventIndex" in refusal && refusal.eventIndex, 2);
});

Deno.test("validateWrite() names target and event of an atomic write that are at fault", () => {
  const bad = { aggregateType: "order", id: other, events: [placed, { type: "nope", data: {} }] };
  const refusal = refusalOf(write({ form: "atomic", targets: [target, bad] }));
  assert.deepEqual(refusal, {
    kind: "event_type_unknown",
    aggregateType: "order",
    eventType: "nope",
    targetIndex: 1,
    eventIndex: 1,
  });
});

Deno.test("validateWrite() refuses an aggregate that appears twice in its canonical form", () => {
  const twice = [target, { ...target, id: id.toUpperCase() }];
  const refusal = refusalOf(write({ form: "atomic", targets: twice }));
  assert.equal(refusal.kind, "write_invalid");
  assert.equal("targetIndex" in refusal && refusal.targetIndex, 1);
});

Deno.test("validateWrite() takes the same id under two aggregate types", () => {
  const customer = {
    aggregateType: "customer",
    id,
    events: [{ type: "was_registered", data: { name: "Ann" } }],
  };
  assert.ok(validateWrite(write({ form: "atomic", targets: [target, customer] }), spec, "test").ok);
});

Deno.test("validateWrite() refuses metadata.previous_length in an atomic write", () => {
  const request = write({ form: "atomic", metadata: { actor, previous_length: 0 } });
  const refusal = refusalOf(request);
  assert.equal(refusal.kind, "metadata_invalid");
  assert.equal("path" in refusal && refusal.path, "metadata.previous_length");
});

Deno.test("validateWrite() keeps absent and 0 of a target's previous_length apart", () => {
  const targets = [{ ...target, previousLength: 0 }, { ...target, id: other }];
  const outcome = validateWrite(write({ form: "atomic", targets }), spec, "test");
  assert.ok(outcome.ok);
  assert.deepEqual(outcome.value.targets.map(({ expected }) => expected), [0, "any"]);
});

Deno.test("validateWrite() refuses a target's previous_length that is no count", () => {
  for (const previousLength of [-1, 1.5, "0", null, true]) {
    const refusal = refusalOf(write({ form: "atomic", targets: [{ ...target, previousLength }] }));
    assert.equal(refusal.kind, "write_invalid");
    assert.equal("path" in refusal && refusal.path, "targets.0.previous_length");
  }
});

Deno.test("validateWrite() allows skip_occ where every event type of the write declares it", () => {
  const metadata = { actor, skip_occ: true };
  assert.ok(validateWrite({ ...single([noted]), metadata }, spec, "test").ok);
  const mixed = { ...single([noted, placed]), form: "batch" as const, metadata };
  const refusal = refusalOf(mixed);
  assert.equal("path" in refusal && refusal.path, "metadata.skip_occ");
});

Deno.test("validateWrite() refuses skip_occ beside a target's previous_length", () => {
  const targets = [{ ...target, events: [noted], previousLength: 1 }];
  const request = write({ form: "atomic", targets, metadata: { actor, skip_occ: true } });
  const refusal = refusalOf(request);
  assert.equal("path" in refusal && refusal.path, "metadata.skip_occ");
});

Deno.test("validateWrite() refuses event types with implications in an atomic write", () => {
  const order = spec.aggregateTypes.get("order")!;
  const events = new Map(order.events);
  events.set("was_placed", { ...events.get("was_placed")!, hasImplications: true });
  const implying = {
    ...spec,
    aggregateTypes: new Map([...spec.aggregateTypes, ["order", { ...order, events }]]),
  };
  const request = write({ form: "atomic", targets: [{ ...target, events: [noted] }, target] });
  const outcome = validateWrite(request, implying, "test");
  assert.deepEqual(outcome, {
    ok: false,
    refusal: { kind: "implications_in_multi_write", targetIndex: 1 },
  });
});

Deno.test("validateWrite() writes __proto__ in data as ordinary data", () => {
  const data = JSON.parse('{"customer":"Ann","__proto__":{"admin":true}}') as JsonObject;
  const outcome = validateWrite(single([{ type: "was_placed", data }]), spec, "test");
  assert.ok(outcome.ok);
  const { dataJson } = outcome.value.targets[0]!.events[0]!;
  assert.equal(dataJson, '{"customer":"Ann","__proto__":{"admin":true}}');
  assert.equal(({} as { admin?: boolean }).admin, undefined);
});

Deno.test("validateWrite() gives one write a bounded amount of schema work for all its events", () => {
  // Each level refers twice to the one below, so one event takes hundreds of visits.
  const $defs: JsonObject = { a0: { type: "string" } };
  for (let level = 1; level <= 7; level++) {
    const below = { $ref: `#/$defs/a${level - 1}` };
    $defs[`a${level}`] = { anyOf: [below, below] };
  }
  const schema = { $defs, anyOf: [{ $ref: "#/$defs/a7" }, {}] };
  const hostile = compileSpec({
    agent_types: ["user"],
    aggregate_types: { order: { events: { was_noted: { schema, handler: [] } } } },
  });
  assert.ok(hostile.ok);
  const events = Array.from({ length: 10_000 }, () => ({ type: "was_noted", data: {} }));
  const few = validateWrite(
    { ...single(events.slice(0, 3)), form: "batch" },
    hostile.spec,
    "test",
  );
  assert.ok(few.ok);
  const many = validateWrite({ ...single(events), form: "batch" }, hostile.spec, "test");
  assert.ok(!many.ok && many.refusal.kind === "schema_validation");
  assert.match(many.refusal.faults[0]!.message, /too much work/);
});
