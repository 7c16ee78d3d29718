/** The form of an event as a write, and a refusal as faults of its fields. */

import assert from "node:assert/strict";
import { type Entry, faultsOf, isUntouched, readEntry } from "../../../console/src/write/entry.ts";
import type { Draft } from "../../../console/src/write/form_draft.ts";

const PART = {
  root: {},
  schema: { type: "object", properties: { a: { type: "number" } } },
  path: "data",
  isRequired: true,
  depth: 0,
};
const ENTRY: Entry = {
  event: "was_placed",
  isJson: false,
  draft: new Map([["a", "1"]]),
  json: "[]",
  actorType: "user",
  actorId: " global ",
  targetType: "",
  targetId: "ignored",
  expected: "3",
  key: "k-1",
};

Deno.test("A form is a write with its actor, length and key; the target only if one is chosen", () => {
  assert.deepEqual(readEntry(ENTRY, PART), {
    data: { a: 1 },
    options: {
      actor: { type: "user", id: "global" },
      target: undefined,
      previous_length: 3,
      idempotencyKey: "k-1",
    },
  });
  const other = readEntry({ ...ENTRY, expected: "", targetType: "customer", targetId: "c" }, PART);
  assert.ok("options" in other);
  assert.equal(other.options.previous_length, undefined);
  assert.deepEqual(other.options.target, { type: "customer", id: "c" });
});

Deno.test("What cannot be sent is a fault at its field", () => {
  const pathsOf = (changed: Partial<Entry>) => {
    const read = readEntry({ ...ENTRY, ...changed }, PART);
    return "data" in read ? [] : read.map(({ path }) => path);
  };
  assert.deepEqual(pathsOf({ isJson: true }), ["data"]);
  assert.deepEqual(pathsOf({ isJson: true, json: "{" }), ["data"]);
  assert.deepEqual(pathsOf({ isJson: true, json: "{}" }), []);
  assert.deepEqual(pathsOf({ expected: "-1", key: " " }), [
    "metadata.previous_length",
    "idempotency_key",
  ]);
});

Deno.test("A refusal names its faults by details, or by its one path", () => {
  const details = [{ path: "data.a", message: "is required" }, "other"];
  assert.deepEqual(faultsOf({ error: "no", path: "data.a", details }), [details[0]]);
  assert.deepEqual(faultsOf({ error: "no", path: "data.a" }), [{ path: "data.a", message: "no" }]);
  assert.deepEqual(faultsOf({ error: "no" }), []);
});

Deno.test("A fault holds until its own field has changed", () => {
  const draftOf = (a: string, sku: string) =>
    new Map<string, Draft>([["a", a], ["lines", [new Map([["sku", sku]])]]]);
  const sent = { ...ENTRY, draft: draftOf("1", "A") };
  const now = { ...ENTRY, draft: draftOf("1", "B"), actorId: "other" };
  const paths = ["data", "data.a", "data.lines.0.sku", "metadata.actor.id"];
  assert.deepEqual(paths.filter((path) => isUntouched(path, sent, now)), ["data.a"]);
  const asJson = { ...sent, isJson: true };
  assert.ok(!isUntouched("data.a", sent, asJson));
  assert.ok(isUntouched("data.a", asJson, { ...asJson, actorId: "other" }));
  assert.ok(!isUntouched("data.a", asJson, { ...asJson, json: "{}" }));
});
