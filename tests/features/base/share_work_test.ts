/**
 * Sharing work by leases under any schedule. Clocks are apart, renewals fail, processes crash
 * or stop in order, and effects come late. The clock is virtual; a failing schedule can be
 * repeated from its seed.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { ownAllWork, shareWork, type WorkShare } from "../../../src/features/base/share_work.ts";
import {
  type Lease,
  LEASE_LIFETIME_MS,
  LEASE_RENEWAL_MS,
  LEASE_SILENCE_MS,
} from "../../../src/domain/fairness/lease.ts";
import { QUEUE_NAMES, QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import { type Engine, EngineUnavailable } from "../../../src/kv/engine.ts";
import { pack, rangeOf, unpack } from "../../../src/kv/tuple.ts";
import { type FakeHost, fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { leavingEngine } from "../../support/two_nodes.ts";

const NODES = 3;
const SHARDS = QUEUE_NAMES.reduce((sum, queue) => sum + QUEUE_SHARDS[queue], 0);

interface Sharer {
  readonly share: WorkShare;
  readonly host: FakeHost;
  /** Once true, it is never asked for anything again. */
  isGone: boolean;
  isCutOff: boolean;
  /** The leases that it believed to hold at its last look. */
  seen: readonly Lease[];
}

/** @param skewMs how far its wall clock is ahead. */
function startSharer(engine: Engine, number: number, skewMs: number): Sharer {
  const host = fakeHost(`sharer ${number}`);
  host.nowMs = () => host.timeMs + skewMs;
  const away = () => sharer.isCutOff ? new EngineUnavailable("cut off") : undefined;
  const share = shareWork(leavingEngine(engine, away), host);
  const sharer: Sharer = { share, host, isGone: false, isCutOff: false, seen: [] };
  return sharer;
}

async function heldBy({ share }: Sharer): Promise<Lease[]> {
  return (await Promise.all(QUEUE_NAMES.map((queue) => share.held(queue)))).flat();
}

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("pass"), ms: fc.nat(700) }) },
  // Longer than a lease lasts: a node that has not looked since works under an expired one.
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("pass"), ms: fc.nat(25_000) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("look"), node: fc.nat(NODES - 1) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("effect"), node: fc.nat(NODES - 1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cut"), node: fc.nat(NODES - 1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash"), node: fc.nat(NODES - 1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("stop"), node: fc.nat(NODES - 1) }) },
);
type Step = { kind: string; ms?: number; node?: number };

const schedule = fc.record({
  skews: fc.tuple(fc.nat(3_600_000), fc.nat(3_600_000), fc.nat(3_600_000)),
  steps: fc.array(step, { minLength: 30, maxLength: 60, size: "max" }),
});

async function look(sharer: Sharer): Promise<void> {
  try {
    sharer.seen = await heldBy(sharer);
  } catch (error) {
    if (!(error instanceof EngineUnavailable)) throw error;
  }
}

/** Records, in commit order, the lease term under which each effect on a shard was done. */
async function doEffects(engine: Engine, { share, seen }: Sharer): Promise<void> {
  for (const lease of seen) {
    await engine.transact(async (tx) => {
      if (!await share.holds(tx, lease)) return;
      const { queue, shard, owner, term } = lease;
      tx.setStamped(pack(["effect", queue, shard]), pack([term]), pack([term, owner]));
    });
  }
}

async function checkEffects(engine: Engine): Promise<void> {
  for (const queue of QUEUE_NAMES) {
    for (let shard = 0; shard < QUEUE_SHARDS[queue]; shard++) {
      const pairs = await engine.snapshot((tx) => tx.getRange(rangeOf(["effect", queue, shard])));
      checkTerms(pairs.map(({ value }) => unpack(value) as [number, string]));
    }
  }
}

/** After a later owner's effect, no effect of an earlier owner may follow. */
function checkTerms(effects: readonly [number, string][]): void {
  const owners = new Map<number, string>();
  let newest = 0;
  for (const [term, owner] of effects) {
    assert.ok(term >= newest, "an effect under a lease that another had taken");
    newest = term;
    assert.equal(owners.get(term) ?? owner, owner, "one term, one owner");
    owners.set(term, owner);
  }
}

/** No two nodes may believe at this moment that they hold the same shard. */
function checkBelieved(sharers: readonly Sharer[]): void {
  const names = sharers.filter(({ isGone }) => !isGone).flatMap(({ share, seen }) =>
    seen.filter((lease) => share.isRunning(lease)).map(({ queue, shard }) => `${queue}/${shard}`)
  );
  assert.equal(new Set(names).size, names.length, "two hold the same shard");
}

async function take(engine: Engine, sharers: readonly Sharer[], { kind, ms, node }: Step) {
  const sharer = sharers[node ?? 0]!;
  if (kind === "pass") { for (const { host } of sharers) host.timeMs += ms!; }
  else if (kind === "effect") await doEffects(engine, sharer);
  else if (sharer.isGone) return;
  else if (kind === "look") await look(sharer);
  else if (kind === "cut") sharer.isCutOff = !sharer.isCutOff;
  else {
    sharer.isGone = true;
    if (kind === "stop" && !sharer.isCutOff) await sharer.share.release();
  }
}

Deno.test("whatever happens: one holder at a time, no late effect, and all work goes on", async () => {
  await fc.assert(
    fc.asyncProperty(schedule, async ({ skews, steps }) => {
      await withTemporaryEngine(async (engine) => {
        const sharers = skews.map((skew, number) => startSharer(engine, number, skew));
        for (const next of steps) {
          await take(engine, sharers, next);
          checkBelieved(sharers);
        }
        await checkEffects(engine);
        await checkTakenOver(engine, sharers);
      });
    }),
    { numRuns: 30 },
  );
});

/** The survivors and a new node soon hold everything, about evenly. */
async function checkTakenOver(engine: Engine, sharers: readonly Sharer[]): Promise<void> {
  const newcomer = startSharer(engine, NODES, 0);
  newcomer.host.timeMs = Math.min(...sharers.map(({ host }) => host.timeMs));
  const alive = [...sharers.filter(({ isGone }) => !isGone), newcomer];
  for (const sharer of alive) sharer.isCutOff = false;
  const turns = Math.ceil(LEASE_SILENCE_MS / LEASE_RENEWAL_MS) + 4;
  for (let turn = 0; turn < turns; turn++) {
    for (const sharer of alive) sharer.host.timeMs += LEASE_RENEWAL_MS;
    for (const sharer of alive) await look(sharer);
  }
  checkBelieved(alive);
  const counts = alive.map(({ seen }) => seen.length);
  assert.equal(counts.reduce((sum, count) => sum + count), SHARDS);
  // Each queue may differ by one.
  assert.ok(Math.max(...counts) - Math.min(...counts) <= QUEUE_NAMES.length, `${counts}`);
}

Deno.test("what a killed process had is taken over within four seconds, by whatever clock", async () => {
  for (const skewMs of [-3_600_000, 0, 3_600_000]) {
    await withTemporaryEngine(async (engine) => {
      const killed = startSharer(engine, 0, skewMs);
      await look(killed);
      assert.equal(killed.seen.length, SHARDS);
      const other = startSharer(engine, 1, 0);
      for (let passedMs = 0; passedMs <= 4_000; passedMs += LEASE_RENEWAL_MS) {
        await look(other);
        other.host.timeMs += LEASE_RENEWAL_MS;
      }
      assert.equal(other.seen.length, SHARDS);
    });
  }
});

Deno.test("what a process that stops in order had is taken over at the next look", async () => {
  await withTemporaryEngine(async (engine) => {
    const [first, second] = [startSharer(engine, 0, 0), startSharer(engine, 1, 0)];
    await look(first);
    await look(second);
    assert.equal(second.seen.length, 0, "the first has everything");
    await first.share.release();
    second.host.timeMs += LEASE_RENEWAL_MS;
    await look(second);
    assert.equal(second.seen.length, SHARDS);
  });
});

Deno.test("a process that was stopped for long comes back to what is left for it, without a late effect", async () => {
  await withTemporaryEngine(async (engine) => {
    const [stopped, other] = [startSharer(engine, 0, 0), startSharer(engine, 1, 0)];
    await look(stopped);
    for (let turn = 0; turn < 20; turn++) {
      await look(other);
      for (const { host } of [stopped, other]) host.timeMs += LEASE_RENEWAL_MS;
    }
    assert.equal(other.seen.length, SHARDS);
    assert.ok(stopped.seen.every((lease) => !stopped.share.isRunning(lease)));
    await doEffects(engine, other);
    await doEffects(engine, stopped);
    await checkEffects(engine);
    await look(stopped);
    assert.equal(stopped.seen.length, 0, "it takes nothing from one that works");
  });
});

/** A sharer; `between` runs once, behind the reads of its next renewal and before its commit. */
function startInterrupted(engine: Engine, between: () => Promise<void>) {
  const host = fakeHost("interrupted");
  let isNext = false;
  const interrupted = wrapEngine(engine, {
    transact: (body, options) =>
      engine.transact(async (tx) => {
        const value = await body(tx);
        if (isNext) {
          isNext = false;
          await between();
        }
        return value;
      }, options),
  });
  const share = shareWork(interrupted, host);
  return { share, host, interruptNext: () => void (isNext = true) };
}

Deno.test("what is taken while an owner renews is not the owner's any more", async () => {
  await withTemporaryEngine(async (engine) => {
    const other = startSharer(engine, 1, 0);
    const late = startInterrupted(engine, () => look(other));
    // So that it gives up nothing, which it would look at again.
    for (const queue of QUEUE_NAMES) late.share.keepWhileBusy(queue, () => true);
    await late.share.renew();
    for (let passedMs = 0; passedMs < LEASE_SILENCE_MS; passedMs += LEASE_RENEWAL_MS) {
      await look(other);
      other.host.timeMs += LEASE_RENEWAL_MS;
    }
    assert.equal(other.seen.length, 0, "one look more, and it has all");
    late.host.timeMs += LEASE_SILENCE_MS;
    late.interruptNext();
    await late.share.renew();
    assert.equal(other.seen.length, SHARDS);
    assert.ok([...late.share.count().values()].every((count) => count === 0));
  });
});

Deno.test("an owner's time runs from before its announcement, however long that takes", async () => {
  await withTemporaryEngine(async (engine) => {
    const slow = startInterrupted(engine, () => {
      slow.host.timeMs += LEASE_LIFETIME_MS - 1;
      return Promise.resolve();
    });
    slow.interruptNext();
    await slow.share.renew();
    assert.equal(slow.share.count().get("sweep"), 1);
    slow.host.timeMs += 1;
    assert.equal(slow.share.count().get("sweep"), 0);
  });
});

Deno.test("held() asks the store no more often than leases are to be renewed", async () => {
  await withTemporaryEngine(async (engine) => {
    let transactions = 0;
    const host = fakeHost();
    const counting = leavingEngine(engine, () => (transactions++, undefined));
    const share = shareWork(counting, host);
    for (let passed = 0; passed < 2 * LEASE_RENEWAL_MS; passed += 100) {
      await Promise.all([share.held("rebuild"), share.held("sweep"), share.renew()]);
      host.timeMs += 100;
    }
    assert.equal(transactions, 2);
  });
});

Deno.test("release() before anything was claimed writes nothing, and nothing is claimed after", async () => {
  await withTemporaryEngine(async (engine) => {
    let transactions = 0;
    const share = shareWork(leavingEngine(engine, () => (transactions++, undefined)), fakeHost());
    await share.release();
    assert.deepEqual(await share.held("rebuild"), []);
    assert.equal(transactions, 0);
  });
});

Deno.test("ownAllWork() holds every shard of every queue, without a store", async () => {
  const share = ownAllWork();
  for (const queue of QUEUE_NAMES) {
    assert.equal((await share.held(queue)).length, QUEUE_SHARDS[queue]);
  }
});

Deno.test("count() tells the shards of each queue that are held, until their leases are over", async () => {
  await withTemporaryEngine(async (engine) => {
    const { share, host } = startSharer(engine, 0, 0);
    const all = QUEUE_NAMES.map((name) => [name, QUEUE_SHARDS[name]]);
    const none = QUEUE_NAMES.map((name) => [name, 0]);
    assert.deepEqual([...share.count()], none);
    await share.renew();
    assert.deepEqual([...share.count()], all);
    host.timeMs += LEASE_LIFETIME_MS;
    assert.deepEqual([...share.count()], none);
    assert.deepEqual([...ownAllWork().count()], all);
  });
});

Deno.test("a shard with something under way is handed over only when that has ended", async () => {
  await withTemporaryEngine(async (engine) => {
    const a = startSharer(engine, 1, 0);
    const b = startSharer(engine, 2, 0);
    const busy = new Set<number>();
    a.share.keepWhileBusy("lane", (shard) => busy.has(shard));
    const all = await a.share.held("lane");
    assert.equal(all.length, QUEUE_SHARDS.lane);
    for (const { shard } of all) busy.add(shard);
    /** This many turns of both, half a second each. */
    async function turns(count: number): Promise<void> {
      for (let turn = 0; turn < count; turn++) {
        for (const each of [a, b]) {
          each.host.timeMs += 500;
          await each.share.held("lane");
        }
      }
    }
    await turns(60);
    const half = QUEUE_SHARDS.lane / 2;
    assert.equal((await a.share.held("lane")).length, half, "nothing begins in the others");
    assert.equal((await b.share.held("lane")).length, 0, "and nobody else has them yet");
    for (const { shard } of all) {
      const isHeld = (await a.share.held("lane")).some((each) => each.shard === shard);
      assert.equal(a.share.owns("lane", shard), isHeld);
    }
    busy.clear();
    await turns(10);
    const left = await a.share.held("lane");
    const given = await b.share.held("lane");
    assert.deepEqual([left.length, given.length], [half, half]);
    const shards = new Set([...left, ...given].map(({ shard }) => shard));
    assert.equal(shards.size, QUEUE_SHARDS.lane, "each has one owner");
  });
});
