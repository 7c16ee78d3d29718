/** The form of an event as a write, and a refusal as faults of its fields. */

import assert from "node:assert/strict";
import { type Entry, faultsOf, readEntry } from "../../../console/src/write/entry.ts";

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
