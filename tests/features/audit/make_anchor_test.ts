/**
 * Cuts beside writes, processes that die while making an anchor, and two that make one at once.
 * See docs/reference/audit.md.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { createAnchorMaker } from "../../../src/features/audit/make_anchor.ts";
import { collectChanges } from "../../../src/features/audit/collect_changes.ts";
import type { InstanceAnchor } from "../../../src/domain/audit/anchor.ts";
import { verifyBundle } from "../../../src/domain/audit/attestation.ts";
import type { WriteRequest } from "../../../src/domain/write/write.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { keys } from "../../../src/store/keys.ts";
import { countRewrite, readEpoch, setEpoch } from "../../../src/store/streams/audit_cuts.ts";
import { findChunks, readChunk } from "../../../src/store/audit/tree_chunks.ts";
import { fakeHost } from "../../support/fake_host.ts";
import {
  ACTOR,
  noteWrite,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";

/** One note to each of the orders, in one atomic write. */
function atomicNote(numbers: readonly number[]): WriteRequest {
  const events = [{ type: "was_noted", data: { text: "together" } }];
  const targets = numbers.map((number) => ({ aggregateType: "order", id: uuid(number), events }));
  return { form: "atomic", targets, metadata: { actor: ACTOR }, requestId: "request-1" };
}

/** Lengths by stream, as the anchor of that number has them. */
async function covered(engine: Engine, tenant: number, number: number) {
  return await engine.snapshot(async (tx) => {
    const lows = await findChunks(tx, tenant, { anchor: number, from: "", to: undefined });
    const chunks = await Promise.all(lows.map((low) => readChunk(tx, tenant, low, number)));
    const entries = chunks.flatMap((chunk) => chunk.entries);
    return new Map(entries.map(({ key, length }) => [key, length]));
  });
}

function makerOf(
  { engine }: ServiceFixture,
  seed: string,
  through = engine,
) {
  return createAnchorMaker({ engine: through, host: fakeHost(seed), done: () => 0 });
}

async function newestVerifies({ service, tenants: { test } }: ServiceFixture, number: number) {
  const request = { aggregateType: "order", id: uuid(number), index: "0" };
  return verifyBundle(valueOf(await service.audit.attest(test, request))).ok;
}

Deno.test("anchors taken during concurrent atomic writes never contain half of one", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    // Every write goes to both streams of a pair: in each anchor both have the same length.
    const pairs = Array.from({ length: 8 }, (_, pair) => [2 * pair, 2 * pair + 1] as const);
    let anchors = 0;
    let isOver = false;
    async function writeOn(pair: readonly [number, number]) {
      for (let round = 0; round < 40; round++) {
        valueOf(await service.data.writeEvents(test, atomicNote(pair)));
        await new Promise((resolve) => setTimeout(resolve, round % 3));
      }
    }
    async function anchorOn() {
      while (!isOver) {
        if ((await service.audit.makeAnchor(test)).isNew) anchors++;
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }
    const writing = Promise.all(pairs.map(writeOn)).finally(() => isOver = true);
    await Promise.all([writing, anchorOn()]);
    if ((await service.audit.makeAnchor(test)).isNew) anchors++;
    assert.ok(anchors > 5, `${anchors} anchors`);
    for (let number = 1; number <= anchors; number++) {
      const lengths = await covered(engine, test.number, number);
      for (const [left, right] of pairs) {
        assert.equal(lengths.get(`order:${uuid(left)}`), lengths.get(`order:${uuid(right)}`));
      }
    }
    const last = await covered(engine, test.number, anchors);
    assert.deepEqual(new Set(last.values()), new Set([40]));
  });
});

/** An engine that dies before or after its transaction of that number. */
function dyingEngine(engine: Engine, dies: number, landed: boolean): Engine {
  let transactions = 0;
  return {
    ...bound(engine),
    async transact(body) {
      const number = ++transactions;
      if (number > dies || (number === dies && !landed)) throw new Error("died");
      const value = await engine.transact(body);
      if (number === dies) throw new Error("died");
      return value;
    },
  };
}

function bound(engine: Engine): Engine {
  return wrapEngine(engine, {});
}

for (const landed of [false, true]) {
  Deno.test(`an anchor whose maker died at any commit is made by the next one (landed: ${landed})`, async () => {
    for (let dies = 1; dies <= 8; dies++) {
      await withService(async (fixture) => {
        const { service, engine, tenants: { test } } = fixture;
        const notes = Array.from(
          { length: 300 },
          () => ({ type: "was_noted", data: { text: "a" } }),
        );
        const first = { ...noteWrite(uuid(1), "x"), form: "batch" as const };
        const targets = [{ aggregateType: "order", id: uuid(1), events: notes }];
        valueOf(await service.data.writeEvents(test, { ...first, targets }));
        for (let anchor = 1; anchor <= 2; anchor++) {
          const dying = makerOf(fixture, `dying ${anchor}`, dyingEngine(engine, dies, landed));
          const died = await dying.make(test).then(() => false, () => true);
          // Events written now belong to the next epoch; the cut that was left behind stays as
          // it is.
          valueOf(await service.data.writeEvents(test, atomicNote([anchor, anchor + 1])));
          const { anchor: made } = await makerOf(fixture, `next ${anchor}`).make(test);
          assert.ok(made !== undefined && (died || dies > 3));
          assert.ok(await newestVerifies(fixture, 1));
        }
        await makerOf(fixture, "last").make(test);
        const newest = valueOf(await service.audit.readAnchor(test));
        assert.equal(newest.event_count, 304);
        for (const number of [1, 2, 3]) assert.ok(await newestVerifies(fixture, number));
      });
    }
  });
}

Deno.test("of two makers at once, neither harms the other, and all anchors follow each other", async () => {
  const schedule = fc.array(fc.tuple(fc.nat(9), fc.nat(9)), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(schedule, async (rounds) => {
      await withService(async (fixture) => {
        const { service, tenants: { test } } = fixture;
        const makers = ["a", "b"].map((seed) => makerOf(fixture, seed));
        for (const [left, right] of rounds) {
          valueOf(await service.data.writeEvents(test, atomicNote([left, 10 + right])));
          const made = await Promise.allSettled(makers.map((maker) => maker.make(test)));
          assert.ok(made.some(({ status }) => status === "fulfilled"));
          for (const number of [left, 10 + right]) assert.ok(await newestVerifies(fixture, number));
        }
        const anchors: readonly InstanceAnchor[] =
          valueOf(await service.audit.listAnchors(test, {})).data;
        assert.equal(anchors[0]!.event_count, 2 * rounds.length);
      });
    }),
    { numRuns: 10 },
  );
});

Deno.test("a stream that is rewritten between cut and publication voids the cut", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    valueOf(await service.data.writeEvents(test, atomicNote([1, 2])));
    let snapshots = 0;
    const rewriting: Engine = {
      ...bound(engine),
      async snapshot(body) {
        // After the cut, while the streams are being read.
        if (++snapshots === 3) {
          await engine.transact((tx) => Promise.resolve(countRewrite(tx, test.number)));
          valueOf(await service.data.writeEvents(test, atomicNote([1, 3])));
        }
        return await engine.snapshot(body);
      },
    };
    const { anchor } = await makerOf(fixture, "maker", rewriting).make(test);
    // A cut from before the rewrite would lack the write that came after the rewrite.
    assert.equal(anchor?.event_count, 4);
    assert.ok(await newestVerifies(fixture, 3));
  });
});

Deno.test("collectChanges() looks at what was changed alone, once there is an anchor", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    for (let number = 0; number < 20; number++) {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(number), "old")));
    }
    await service.audit.makeAnchor(test);
    for (const number of [3, 7, 77]) {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(number), "new")));
    }
    const pace = () => Promise.resolve();
    const place = { engine, pace, tenant: test.number, cut: 1 };
    const { changes } = await collectChanges(place);
    assert.deepEqual(changes.map(({ key, length, before }) => [key, before?.count, length]), [
      [`order:${uuid(3)}`, 1, 2],
      [`order:${uuid(7)}`, 1, 2],
      [`order:${uuid(77)}`, undefined, 1],
    ]);
  });
});

Deno.test("collectChanges() tells what a stream was at the newest anchor, through all epochs since", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "one")));
    await service.audit.makeAnchor(test);
    for (let cut = 1; cut <= 3; cut++) {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "more")));
      await engine.transact((tx) => Promise.resolve(setEpoch(tx, test.number, cut + 1)));
    }
    const pace = () => Promise.resolve();
    const { changes } = await collectChanges({ engine, pace, tenant: test.number, cut: 3 });
    assert.deepEqual(changes.map(({ before, length }) => [before?.count, length]), [[1, 4]]);
  });
});

/** Marks streams that have no event as changed, as many as one anchor may find. */
async function markMany(engine: Engine, tenant: number, count: number): Promise<void> {
  await engine.transact(async (tx) => {
    const epoch = await readEpoch(tx, tenant);
    for (let n = 0; n < count; n++) {
      tx.set(keys.auditChange(tenant, epoch, `order:${uuid(n + 1_000)}`), new Uint8Array(8));
    }
  });
}

async function countMarks(engine: Engine, tenant: number): Promise<number> {
  const range = keys.auditChanges(tenant);
  return (await engine.snapshot((tx) => tx.getRange(range, { keysOnly: true }))).length;
}

Deno.test("the marks behind an anchor are cleared in pages, none of which holds up other commits", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "first")));
    await service.audit.makeAnchor(test);
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "second")));
    await markMany(engine, test.number, 2_500);
    assert.equal((await service.audit.makeAnchor(test)).anchor!.event_count, 2);
    let left = await countMarks(engine, test.number);
    assert.equal(left, 1_501);
    assert.equal((await service.audit.makeAnchor(test)).isNew, false, "what is covered is no news");
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "third")));
    left++;
    const cleared: number[] = [];
    const through = wrapEngine(engine, {
      async transact(body, options) {
        const value = await engine.transact(body, options);
        const now = await countMarks(engine, test.number);
        if (now !== left) cleared.push(left - now);
        left = now;
        return value;
      },
    });
    const { anchor } = await makerOf(fixture, "pages", through).make(test);
    assert.deepEqual([anchor!.event_count, anchor!.stream_count], [3, 1]);
    assert.deepEqual(cleared, [1_000, 501, 1]);
    assert.ok(await newestVerifies(fixture, 1));
  });
});
