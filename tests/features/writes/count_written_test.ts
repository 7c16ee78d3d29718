/** What a transaction of writes counts: what it has done, once, and nothing else. */

import assert from "node:assert/strict";
import { countWritten } from "../../../src/features/writes/combine.ts";
import {
  NOTHING_WRITTEN,
  type PreparedWrite,
} from "../../../src/features/writes/prepared_write.ts";
import { newCounters } from "../../../src/domain/measures/counters.ts";
import { accept, type Outcome, refuse } from "../../../src/domain/refusal.ts";
import type { Written } from "../../../src/domain/write/write.ts";
import { reactiveSpec, setOff, setOffAll } from "../../support/reactive_spec.ts";
import { uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { faultyEngine } from "../../support/faulty_engine.ts";

/** A write of this many events to each target, with the given origin. */
function prepared(
  events: readonly number[],
  origin?: "implied" | "scheduled",
  errors: readonly string[] = [],
): PreparedWrite {
  const write = {
    targets: events.map((length) => ({ events: Array.from({ length }, () => ({})) })),
    errors: errors.map((error_type) => ({ error_type })),
    cause: origin && { origin },
  };
  return write as unknown as PreparedWrite;
}

const LANDED: Outcome<Written> = accept({ ...NOTHING_WRITTEN });

function totals(write: PreparedWrite, outcome: Outcome<Written>) {
  const counters = newCounters();
  countWritten(counters, [write], [outcome]);
  const { eventsWritten, errorRecords, writesReplayed } = counters;
  const moved = [...eventsWritten, ...errorRecords].filter(([, value]) => value > 0);
  return { ...Object.fromEntries(moved), ...(writesReplayed > 0 && { replayed: writesReplayed }) };
}

Deno.test("countWritten() counts all events of all targets under why they were written", () => {
  assert.deepEqual(totals(prepared([3, 2]), LANDED), { client: 5 });
  assert.deepEqual(totals(prepared([1], "implied"), LANDED), { implied: 1 });
  assert.deepEqual(totals(prepared([1], "scheduled"), LANDED), { scheduled: 1 });
});

Deno.test("countWritten() counts the error records that commit with a write", () => {
  const failed = prepared([1], undefined, ["implication_failed", "implication_failed"]);
  assert.deepEqual(totals(failed, LANDED), { client: 1, implication_failed: 2 });
});

Deno.test("countWritten() counts a replay as one, and nothing of what was refused or gone", () => {
  const write = prepared([3], "implied", ["implication_failed"]);
  assert.deepEqual(totals(write, accept({ ...NOTHING_WRITTEN, replayed: true })), { replayed: 1 });
  assert.deepEqual(totals(write, accept(NOTHING_WRITTEN)), {});
  assert.deepEqual(totals(write, refuse({ kind: "idempotency_mismatch" })), {});
});

for (const landed of [false, true]) {
  Deno.test(`a write whose commit reply is lost counts once (landed: ${landed})`, async () => {
    let isFaulty = false;
    await withService(async ({ service, tenants: { test } }) => {
      const before = new Map(service.operations.counters.eventsWritten);
      isFaulty = true;
      const events = [{ type: "was_paid", data: {} }, { type: "was_placed", data: {} }];
      valueOf(await service.data.writeEvents(test, setOffAll(uuid(1), events)));
      valueOf(await service.data.writeEvents(test, setOff(uuid(2), "was_paid")));
      const { eventsWritten } = service.operations.counters;
      assert.equal(eventsWritten.get("client")! - before.get("client")!, 3);
      assert.equal(eventsWritten.get("implied")! - before.get("implied")!, 1);
    }, {
      spec: reactiveSpec,
      wrap: (engine) => {
        let commits = 0;
        const lost = { kind: "lose_reply", landed } as const;
        return faultyEngine(engine, () => isFaulty && commits++ % 2 === 0 ? lost : undefined);
      },
    });
  });
}
