/** The map of a migration: which documents are one, and what it does to an event. */

import assert from "node:assert/strict";
import type { JsonValue } from "../../../src/domain/json.ts";
import { applyMap, parseMap, writeMap } from "../../../src/domain/migrate/map.ts";
import type { SourceEvent } from "../../../src/domain/migrate/source_event.ts";

const FULL = {
  streams: { account: { type: "account", events: { Opened: "opened", Noise: null } }, junk: null },
  actor: { type: "user", from: "metadata.user" },
  target: { party: "about" },
  keep: { "metadata.reason": "reason" },
  columns: { kind: "=account", id: "no", data: ["a", "b"], json: ["b"] },
  split: "none",
  namespace: "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
};

Deno.test("writeMap() gives back the document that parseMap() has read", () => {
  const parsed = parseMap(FULL);
  assert.ok(parsed.ok);
  assert.deepEqual(writeMap(parsed.map), FULL);
});

const FAULTS: readonly [document: JsonValue, path: string][] = [
  [[], ""],
  [{ stream: {} }, "stream"],
  [{ streams: [] }, "streams"],
  [{ streams: { a: "b" } }, "streams.a"],
  [{ streams: { a: { type: "a" } } }, "streams.a"],
  [{ streams: { a: { type: "a", events: { B: 1 } } } }, "streams.a.events.B"],
  [{ streams: { a: { type: "a", events: {}, event: {} } } }, "streams.a.event"],
  [{ actor: { type: "user" } }, "actor"],
  [{ actor: { type: "user", id: 7 } }, "actor"],
  [{ target: "user" }, "target"],
  [{ keep: { a: 1 } }, "keep"],
  [{ columns: { colour: "x" } }, "columns"],
  [{ columns: { json: "x" } }, "columns"],
  [{ columns: { id: ["x"] } }, "columns"],
  [{ split: "all" }, "split"],
  [{ namespace: "x" }, "namespace"],
];

for (const [document, path] of FAULTS) {
  Deno.test(`parseMap() refuses ${JSON.stringify(document)} and says where`, () => {
    const parsed = parseMap(document);
    assert.equal(!parsed.ok && parsed.path, path);
  });
}

const EVENT: SourceEvent = {
  stream: "account-7KD2M9QXA",
  category: "account",
  entity: "7KD2M9QXA",
  type: "Opened",
  data: { a: 1 },
  time: "2024-03-01T10:00:00.9Z",
  timeMs: 1_709_287_200_900,
  rest: { metadata: { user: "7KD2M9QXB", reason: ["x"] }, about: "customer:global" },
};

function apply(change: Partial<SourceEvent>, document: JsonValue = {}) {
  const parsed = parseMap({ streams: FULL.streams, ...document as object });
  assert.ok(parsed.ok);
  return applyMap(parsed.map, "here", new Set())({ ...EVENT, ...change });
}

Deno.test("applyMap() finds actor and target at their paths, and keeps what keep names", () => {
  const { actor, target, keep } = FULL;
  const mapped = apply({}, { actor, target, keep });
  assert.deepEqual(mapped, {
    kind: "event",
    event: {
      key: "account:7KD2M9QXA",
      type: "opened",
      data: { a: 1, reason: ["x"] },
      metadata: {
        actor: { type: "user", id: "7KD2M9QXB" },
        target: { type: "customer", id: "global" },
        timestamp: 1_709_287_200,
        origin: { source: "here", time: "2024-03-01T10:00:00.9Z" },
      },
    },
  });
});

Deno.test("applyMap() gives events without an actor of their own the global one of the type", () => {
  const mapped = apply({ rest: {} }, { actor: FULL.actor });
  assert.deepEqual(mapped.kind === "event" && mapped.event.metadata, {
    actor: { type: "user", id: "global" },
    timestamp: 1_709_287_200,
    origin: { source: "here", time: "2024-03-01T10:00:00.9Z" },
  });
});

Deno.test("applyMap() leaves out what the map has as null", () => {
  assert.equal(apply({ category: "junk" }).kind, "left_out");
  assert.equal(apply({ type: "Noise" }).kind, "left_out");
});

const REFUSED: readonly [rule: string, change: Partial<SourceEvent>, map?: JsonValue][] = [
  ["stream_unmapped", { category: "other" }],
  ["event_unmapped", { type: "Other" }],
  ["time_missing", { timeMs: undefined }],
  ["field_taken", { data: { reason: 1 } }, { keep: FULL.keep }],
];

for (const [rule, change, document] of REFUSED) {
  Deno.test(`applyMap() refuses by the rule ${rule}`, () => {
    const mapped = apply(change, document);
    assert.equal(mapped.kind === "refused" && mapped.rule, rule);
  });
}
