/** Events no longer implied are dropped together, reported once, and never under another spec. */

import assert from "node:assert/strict";
import { openDropper } from "../../../src/features/reactions/drop_implied.ts";
import { newCounters } from "../../../src/domain/measures/counters.ts";
import type { EmitEntry, OutboxWork } from "../../../src/domain/reaction/outbox_entry.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { openSpecCache } from "../../../src/features/base/current_spec.ts";
import { clearEntry, hasEntry, putEntry } from "../../../src/store/reactions/outbox.ts";
import { encodeEntry } from "../../../src/store/reactions/entry_bytes.ts";
import { type FaultPlan, faultyEngine } from "../../support/faulty_engine.ts";
import { type ServiceFixture, valueOf, withService } from "../../support/service_fixture.ts";

const TRIGGER = streamKey("order", "a");

function entryOf(root: string): EmitEntry {
  return {
    kind: "emit",
    emission: {
      key: streamKey("ledger", "global"),
      aggregateType: "ledger",
      id: "global",
      eventType: "was_noted",
      data: {},
    },
    actor: { type: "user", id: "global" },
    eventType: "was_placed",
    depth: 2,
    requestId: "request-1",
    root: { of: root, first: 3 },
  };
}

/** Puts `count` entries of one root into the outbox. */
async function putMany(
  { engine, tenants: { test } }: ServiceFixture,
  count: number,
  root: string,
  first = 0,
) {
  const entry = entryOf(root);
  const waiting = { entry, sinceMs: 1_000, waitMs: 1_000, tries: 0 };
  const value = encodeEntry(waiting);
  const works = Array.from({ length: count }, (_, n): OutboxWork => {
    const place = { tenant: test.number, stream: TRIGGER, index: first + n, number: 0 };
    return { ...waiting, place, bytes: value.length };
  });
  await engine.transact((tx) => {
    for (const { place } of works) putEntry(tx, place, value);
    return Promise.resolve();
  });
  return works.map((work) => ({ work, entry }));
}

/** A second dropper beside the service's, whose commits meet the faults of `plan`. */
async function openOver({ engine, host, tenants: { test } }: ServiceFixture, plan: FaultPlan) {
  let commits = 0;
  const faultOf = typeof plan === "function" ? plan : (commit: number) => plan[commit];
  const faulty = faultyEngine(engine, (commit) => (commits++, faultOf(commit)));
  const specs = openSpecCache(engine, host);
  const { hash } = await specs.current(test.number);
  const forgotten: number[] = [];
  const counters = newCounters();
  const forget = (tenant: number) => void forgotten.push(tenant);
  const dropper = openDropper({ engine: faulty, host, specs: { forget }, counters });
  return { dropper, hash, forgotten, counters, commits: () => commits };
}

async function leftOf({ engine }: ServiceFixture, implied: readonly { work: OutboxWork }[]) {
  const are = await engine.snapshot((tx) =>
    Promise.all(implied.map(({ work }) => hasEntry(tx, work.place)))
  );
  return are.filter(Boolean).length;
}

async function errorsOf({ service, tenants: { test } }: ServiceFixture) {
  const { data } = valueOf(await service.data.listErrors(test, { limit: 50 }));
  return data.map(({ error_type, context }) => [error_type, context.root_key]);
}

Deno.test("a thousand entries of one root are dropped in a few commits, and said once", async () => {
  await withService(async (fixture) => {
    const implied = await putMany(fixture, 1_000, "order:b/000000000000");
    const { dropper, hash, counters, commits } = await openOver(fixture, []);
    await Promise.all(implied.map((one) => dropper.drop(one, hash)));
    assert.equal(await leftOf(fixture, implied), 0);
    assert.deepEqual(await errorsOf(fixture), [["implication_dropped", "order:b"]]);
    assert.equal(counters.errorRecords.get("implication_dropped"), 1);
    assert.ok(commits() <= 6, `${commits()} commits`);
  });
});

Deno.test("each root is told of by itself", async () => {
  await withService(async (fixture) => {
    const roots = ["order:b/000000000000", "order:c/000000000000"];
    const all = [
      await putMany(fixture, 3, roots[0]!),
      await putMany(fixture, 3, roots[1]!, 3),
    ].flat();
    const { dropper, hash } = await openOver(fixture, []);
    await Promise.all(all.map((one) => dropper.drop(one, hash)));
    assert.equal(await leftOf(fixture, all), 0);
    const told = (await errorsOf(fixture)).map(([, key]) => key).sort();
    assert.deepEqual(told, ["order:b", "order:c"]);
  });
});

const plans = {
  "a commit that did not land": [{ kind: "lose_reply", landed: false }],
  "a commit that landed and nobody heard of": [{ kind: "lose_reply", landed: true }],
  "conflicts": [{ kind: "conflict", times: 3 }],
} as const satisfies Record<string, FaultPlan>;

for (const [name, plan] of Object.entries(plans)) {
  Deno.test(`${name}: every entry goes, and one record says so`, async () => {
    await withService(async (fixture) => {
      const implied = await putMany(fixture, 300, "order:b/000000000000");
      const { dropper, hash } = await openOver(fixture, plan);
      await Promise.all(implied.map((one) => dropper.drop(one, hash)));
      assert.equal(await leftOf(fixture, implied), 0);
      assert.equal((await errorsOf(fixture)).length, 1);
    });
  });
}

for (const landed of [false, true]) {
  const what = landed ? "landed" : "did not land";
  Deno.test(`an outage whose commit ${what} is thrown, and the next try ends it`, async () => {
    await withService(async (fixture) => {
      const implied = await putMany(fixture, 10, "order:b/000000000000");
      const { dropper, hash } = await openOver(fixture, [{ kind: "unavailable", landed }]);
      await assert.rejects(dropper.drop(implied[0]!, hash));
      await Promise.all(implied.map((one) => dropper.drop(one, hash)));
      assert.equal(await leftOf(fixture, implied), 0);
      assert.equal((await errorsOf(fixture)).length, 1);
    });
  });
}

Deno.test("under a spec that is not the current one nothing is dropped, and the spec is forgotten", async () => {
  await withService(async (fixture) => {
    const implied = await putMany(fixture, 10, "order:b/000000000000");
    const { dropper, forgotten } = await openOver(fixture, []);
    await Promise.all(implied.map((one) => dropper.drop(one, "0".repeat(64))));
    assert.equal(await leftOf(fixture, implied), 10);
    assert.deepEqual(await errorsOf(fixture), []);
    assert.deepEqual(new Set(forgotten), new Set([fixture.tenants.test.number]));
  });
});

Deno.test("entries that another process has done meanwhile are no loss, and nothing is said", async () => {
  await withService(async (fixture) => {
    const implied = await putMany(fixture, 5, "order:b/000000000000");
    const { dropper, hash } = await openOver(fixture, []);
    const { dropper: other } = await openOver(fixture, []);
    await Promise.all(implied.map((one) => other.drop(one, hash)));
    await Promise.all(implied.map((one) => dropper.drop(one, hash)));
    assert.equal((await errorsOf(fixture)).length, 1);
    // These were written, not dropped.
    const written = await putMany(fixture, 5, "order:c/000000000000");
    await fixture.engine.transact((tx) => {
      for (const { work } of written) clearEntry(tx, work);
      return Promise.resolve();
    });
    await Promise.all(written.map((one) => dropper.drop(one, hash)));
    assert.equal((await errorsOf(fixture)).length, 1);
  });
});
