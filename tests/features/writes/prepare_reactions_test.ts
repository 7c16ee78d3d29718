/**
 * The reactions of a write are limited to what one transaction takes, however long the keys. An
 * outbox entry kept in memory equals the stored one, whatever its size.
 */

import assert from "node:assert/strict";
import { PIECE_UNITS } from "../../../src/domain/budget.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import { reactiveSpec, setOffAll } from "../../support/reactive_spec.ts";
import { uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";
import { prepareWriteSteps } from "../../../src/features/writes/prepare_write.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { keepEncoded } from "../../../src/features/writes/prepare_reactions.ts";
import { prepareSchedule } from "../../../src/features/writes/prepare_schedule.ts";
import type { EmitEntry } from "../../../src/domain/reaction/outbox_entry.ts";
import { streamKey } from "../../../src/domain/identifier.ts";

/** Prepares an event that implies one of a schema for each of 1,000 ids, and counts the checks. */
function checksOf(schema: JsonObject, data: JsonObject) {
  const emit = { aggregate_type: "end", id: "$item", event_type: "was_met", data: "$.data.part" };
  const compiled = compileSpec({
    aggregate_types: {
      start: {
        events: {
          was_made: {
            schema: true,
            handler: [],
            implications: [{ map: { in: "$.data.ids", emit } }],
          },
        },
      },
      end: { events: { was_met: { schema, handler: [] } } },
    },
    agent_types: ["user"],
  });
  assert.ok(compiled.ok);
  const type = compiled.spec.aggregateTypes.get("end")!.events.get("was_met")!;
  const { validateData } = type;
  const checks = { count: 0, units: 0 };
  const counting: typeof validateData = (data, work) => {
    const before = work!.left;
    const faults = validateData(data, work);
    checks.count++;
    checks.units += before - work!.left;
    return faults;
  };
  Object.assign(type, { validateData: counting });
  const ids = Array.from({ length: 1_000 }, (_, n) => uuid(n));
  const valid = { type: "was_made", dataJson: JSON.stringify({ ids, part: data }) };
  const key = streamKey("start", "global");
  const targets = [{
    key,
    aggregateType: "start",
    id: "global",
    expected: "any" as const,
    events: [valid],
  }];
  const metadata = { actor: { type: "user", id: "global" } };
  const request = { ...setOffAll("global", []), requestId: "r" };
  const moment = { nowMs: 1, ownWaitMs: 1_000, isDirect: true };
  const steps = prepareWriteSteps(
    fakeHost(),
    compiled.spec,
    request,
    { targets, metadata: metadata as never },
    moment,
  );
  const write = valueOf(runAtOnce(steps));
  assert.equal(write.impliedCount, ids.length);
  return { ...checks, direct: write.directStreams?.length ?? 0 };
}

Deno.test("of the events that a write implies, sixteen are checked at once, fitting or not", () => {
  const schema = { type: "object", properties: { n: { type: "integer" } } };
  const fitting = checksOf(schema, { n: 1 });
  assert.deepEqual([fitting.count, fitting.direct], [16, 16]);
  const unfitting = checksOf(schema, { n: "no" });
  assert.deepEqual([unfitting.count, unfitting.direct], [16, 0]);
});

Deno.test("the checks of all events that a write implies take one piece of work", () => {
  let data: JsonObject = {};
  for (let level = 0; level < 40; level++) data = { a: data };
  const schema = { properties: { a: { allOf: [{ $ref: "#" }, { $ref: "#" }] } } };
  const { count, units } = checksOf(schema, data);
  assert.equal(count, 1);
  assert.ok(units < 1.1 * PIECE_UNITS, `${units} units`);
});

const LONG = "a".repeat(64);

/** An event that implies one, with the longest possible stream keys, shown to sagas too. */
function longSpec(): JsonObject {
  const plain = { schema: true, handler: [] };
  const emit = { aggregate_type: LONG, id: "$.id", event_type: "was_noted" };
  return {
    aggregate_types: {
      [LONG]: {
        events: { was_placed: { ...plain, implications: [{ emit }] }, was_noted: plain },
      },
    },
    agent_types: ["user"],
    modules: {
      sagas: {
        one: {
          trigger: { aggregate_type: LONG, event_type: "was_placed", condition: { eq: [1, 2] } },
          steps: [{ name: "s", emit }],
        },
      },
    },
  };
}

/** Writes ever larger batches until one is refused; returns the largest accepted size. */
async function largestBatch(
  sizes: readonly number[],
  write: (size: number) => Promise<{ readonly ok: boolean; readonly kind?: string }>,
): Promise<number> {
  let largest = 0;
  for (const size of sizes) {
    const { ok, kind } = await write(size);
    if (ok) largest = size;
    else assert.equal(kind, "payload_too_large");
  }
  return largest;
}

Deno.test("whatever is not refused fits one transaction, with the longest keys and sagas", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const id = `${uuid(1)}:aaaaaaaaaa`;
    const largest = await largestBatch([4_000, 6_000, 8_000, 10_000], async (size) => {
      const events = Array.from({ length: size }, () => ({ type: "was_placed", data: {} }));
      const request = setOffAll(id, events);
      const targets = [{ ...request.targets[0]!, aggregateType: LONG }];
      const outcome = await service.data.writeEvents(test, { ...request, targets });
      return outcome.ok ? { ok: true } : { ok: false, kind: outcome.refusal.kind };
    });
    assert.ok(largest >= 4_000);
    const length = valueOf(await service.data.readLength(test, LONG, id));
    assert.ok(length >= 2 * largest, "all of them were implied");
  }, { spec: longSpec() });
});

Deno.test("a batch of 10,000 small events may imply one event each", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const events = Array.from({ length: 10_000 }, () => ({ type: "was_placed", data: {} }));
    const written = valueOf(await service.data.writeEvents(test, setOffAll("global", events)));
    assert.equal(written.impliedCount, limits.implicationActionsMax);
    assert.equal(valueOf(await service.data.readLength(test, "ledger", "global")), 10_000);
  }, { spec: reactiveSpec });
});

Deno.test("as many scheduled events as are not refused fit one transaction", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const largest = await largestBatch([2_000, 4_000, 6_000, 8_000], async (size) => {
      const events = Array.from({ length: size }, () => ({ type: "was_promised", data: {} }));
      const outcome = await service.data.writeEvents(test, setOffAll(uuid(1), events));
      return outcome.ok ? { ok: true } : { ok: false, kind: outcome.refusal.kind };
    });
    assert.ok(largest >= 2_000);
  }, { spec: reactiveSpec });
});

Deno.test("scheduled events of one write have ids of their own that are neighbours in the store", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const events = Array.from({ length: 100 }, () => ({ type: "was_promised", data: {} }));
    for (const id of [uuid(1), uuid(2)]) {
      valueOf(await service.data.writeEvents(test, setOffAll(id, events)));
    }
    const page = valueOf(await service.data.listScheduled(test, { limit: 200 }));
    const ids = page.data.map(({ scheduled_id }) => scheduled_id);
    assert.equal(new Set(ids).size, 200);
    assert.equal(new Set(ids.map((id) => id.slice(0, 13))).size, 2);
    for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab]/);
  }, { spec: reactiveSpec });
});

function entryOf(text: string): EmitEntry {
  const key = streamKey("order", "global");
  return {
    kind: "emit",
    emission: { key, aggregateType: "order", id: "global", eventType: "was_met", data: { text } },
    actor: { type: "user", id: "global" },
    eventType: "was_placed",
    depth: 1,
    requestId: "r",
  };
}

for (const length of [1, 1_000, 2_000, 90_000]) {
  Deno.test(`an entry with ${length} characters of data is as it was, and as its bytes are`, () => {
    const entry = entryOf("é".repeat(length));
    const kept = keepEncoded({ entry, sinceMs: 1, waitMs: 2, tries: 0 });
    const stored = JSON.parse(new TextDecoder().decode(kept.value));
    assert.deepEqual(stored, { entry, sinceMs: 1, waitMs: 2, tries: 0 });
    assert.equal(JSON.stringify(kept.entry), JSON.stringify(entry));
  });
}

Deno.test("an entry keeps no data as an object, only its bytes", () => {
  const { emission } = keepEncoded({
    entry: entryOf("a".repeat(200)),
    sinceMs: 1,
    waitMs: 2,
    tries: 0,
  }).entry;
  assert.notEqual(emission.data, emission.data, "it is made anew each time");
});

for (const length of [1, 300, 90_000]) {
  Deno.test(`a scheduled event with ${length} characters of data is as it was, and counts what it stores`, () => {
    const { emission } = entryOf("é".repeat(length));
    const source = { host: fakeHost(), nowMs: 1, requestId: "r", scheduleIdPrefix: undefined };
    const action = { kind: "schedule", delayMs: 1_000, emission, cancelOn: [] } as const;
    const schedule = prepareSchedule(source, action, undefined);
    assert.equal(JSON.stringify(schedule.emission), JSON.stringify(emission));
    const stored = 1_100 + new TextEncoder().encode(JSON.stringify(emission)).length;
    assert.ok(schedule.bytes >= stored && schedule.bytes < stored + 10);
    const { data } = schedule.emission;
    assert.equal(data === schedule.emission.data, length === 1, "if large it is made anew");
  });
}
