/** Pending work is measured page by page, without decoding what may be large. */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { encodeEntry } from "../../../src/store/reactions/entry_bytes.ts";
import {
  MEASURED_GROUPS,
  type MeasuredPage,
  type MeasuredPlace,
  type MeasuredReaction,
  measureReactions,
} from "../../../src/store/reactions/pending_reactions.ts";
import { putEntry } from "../../../src/store/reactions/outbox.ts";
import {
  encodeSchedule,
  type ScheduleRecord,
  storeSchedule,
} from "../../../src/store/reactions/schedules.ts";
import { charactersParsedIn } from "../../support/parsed_json.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 6;
const KEY = streamKey("order", "global");
const [ENTRIES, SCHEDULES] = MEASURED_GROUPS;

function recordOf(id: string, data: JsonObject, change: object = {}): ScheduleRecord {
  return {
    id,
    emission: { key: KEY, aggregateType: "order", id: "global", eventType: "was_met", data },
    cancelOn: [],
    createdMs: 1_767_225_600_123,
    fireAtMs: 9,
    requestId: "r",
    tries: 0,
    timerMs: 9,
    root: { of: 'order:"createdMs":5/0', first: 1 },
    by: { key: KEY, eventType: "was_placed", streamId: "000000000000" },
    ...change,
  };
}

async function storeAll(engine: Engine, records: readonly ScheduleRecord[]): Promise<void> {
  for (const record of records) {
    await engine.transact((tx) => Promise.resolve(storeSchedule(tx, TENANT, record)));
  }
}

async function pagesOf(engine: Engine, group = SCHEDULES!): Promise<MeasuredReaction[][]> {
  const pages: MeasuredReaction[][] = [];
  let place: MeasuredPlace | undefined = { source: 0 };
  while (place !== undefined) {
    const at: MeasuredPlace = place;
    const page: MeasuredPage = await engine.snapshot((tx) =>
      measureReactions(tx, TENANT, group, at)
    );
    pages.push([...page.measured]);
    place = page.next;
  }
  return pages;
}

Deno.test("a scheduled event is measured without decoding it, whatever its data looks like", async () => {
  await withTemporaryEngine(async (engine) => {
    const records = [
      recordOf("a", {}),
      recordOf("b", { createdMs: 5, text: '"createdMs":6' }),
      recordOf("c", { text: "é".repeat(90_000) }),
      recordOf("d", { list: Array.from({ length: 9_000 }, () => ({})) }),
    ];
    await storeAll(engine, records);
    let found: MeasuredReaction[] = [];
    const parsed = await charactersParsedIn(async () => {
      found = (await pagesOf(engine)).flat();
    });
    assert.equal(parsed, 0);
    const expected = records.map((record) => (
      { kind: "scheduled", bytes: encodeSchedule(record).length, sinceMs: 1_767_225_600_123 }
    ));
    assert.deepEqual(found, expected);
  });
});

Deno.test("a scheduled event that came without a readable time is decoded for it", async () => {
  await withTemporaryEngine(async (engine) => {
    const { createdMs, ...record } = recordOf("a", {});
    const moved = { createdMs, ...record, requestId: undefined, more: { createdMs: "x" } };
    await storeAll(engine, [moved as unknown as ScheduleRecord]);
    assert.deepEqual((await pagesOf(engine)).flat().map(({ sinceMs }) => sinceMs), [createdMs]);
  });
});

Deno.test("a page ends with the record that makes it a quarter of a megabyte, or with a hundred", async () => {
  await withTemporaryEngine(async (engine) => {
    const large = ["a", "b", "c", "d"].map((id) => recordOf(id, { text: "x".repeat(110_000) }));
    const small = Array.from({ length: 150 }, (_, at) => recordOf(`e${at}`, {}));
    await storeAll(engine, [...large, ...small]);
    const lengths = (await pagesOf(engine)).map(({ length }) => length);
    assert.deepEqual(lengths, [3, 100, 51]);
  });
});

Deno.test("entries of all shards are measured, each once, as events to write or for sagas", async () => {
  await withTemporaryEngine(async (engine) => {
    const shared = { eventType: "was_placed", requestId: "r" };
    const actor = { type: "user", id: "global" } as const;
    const { emission } = recordOf("a", { text: "x".repeat(120_000) });
    const large = encodeEntry({
      entry: { kind: "emit", emission, actor, depth: 1, ...shared },
      sinceMs: 7,
      waitMs: 0,
      tries: 0,
    });
    const sagas = { entry: { kind: "sagas", ...shared }, sinceMs: 8, waitMs: 0, tries: 1 } as const;
    const small = encodeEntry(sagas);
    await engine.transact((tx) => {
      for (let at = 0; at < 40; at++) {
        const stream = streamKey("order", String(at).padStart(9, "0"));
        putEntry(tx, { tenant: TENANT, stream, index: 3, number: 0 }, small);
        putEntry(tx, { tenant: TENANT + at % 2, stream, index: 3, number: 1 }, large);
      }
      return Promise.resolve();
    });
    let found: MeasuredReaction[] = [];
    const parsed = await charactersParsedIn(async () => {
      found = (await pagesOf(engine, ENTRIES!)).flat();
    });
    const implied = { kind: "implied", bytes: large.length, sinceMs: 7 };
    const saga = { kind: "saga", bytes: small.length, sinceMs: 8 };
    assert.deepEqual(found.filter(({ kind }) => kind === "implied"), Array(20).fill(implied));
    assert.deepEqual(found.filter(({ kind }) => kind === "saga"), Array(40).fill(saga));
    assert.equal(parsed, 40 * small.length);
  });
});
