/**
 * A process relies on being notified instead of looking, and misses something. The notification
 * is lost or comes before the process listens, or the news falls between the replay and the
 * live stream.
 *
 * Published by: Commanded's EventStore, NeoHaskell, eventsourcing (Python), occurrent.
 */

import assert from "node:assert/strict";
import { FEED_START, type LogPlace } from "../../src/domain/feed/place.ts";
import { streamKey } from "../../src/domain/identifier.ts";
import { wrapEngine } from "../../src/kv/calls.ts";
import type { Engine, ReadTransaction, Watch } from "../../src/kv/engine.ts";
import { lastLogPlace, readLog } from "../../src/store/feed/commit_log.ts";
import { signalOutbox } from "../../src/store/reactions/outbox.ts";
import { readHead } from "../../src/store/streams/streams.ts";
import { outboxWorker } from "../../src/workers/workers.ts";
import { runWorker } from "../../src/workers/worker.ts";
import { idsOf } from "../support/log_reader.ts";
import { setOff, write } from "../support/reactive_spec.ts";
import { uuid } from "../support/service_fixture.ts";
import { deafEngine } from "../support/two_nodes.ts";
import { until } from "../support/until.ts";
import { countNotes, type Shop, withShop, writeAndDie } from "./shop.ts";

/** Runs a worker that would look again only in an hour; `tell` decides what wakes it. */
async function workUntilNoted(
  shop: Shop,
  wrap: (engine: Engine) => Engine,
  tell: () => Promise<void>,
): Promise<void> {
  const node = shop.start(wrap);
  const worker = { ...outboxWorker(node.service), idleMs: 3_600_000 };
  let drains = 0;
  const counted = {
    ...worker,
    drain: (limit: number, isStopping?: () => boolean) => {
      drains++;
      return worker.drain(limit, isStopping);
    },
  };
  const running = runWorker(counted, node.host);
  try {
    await until(() => drains >= 2, "the first look, and the one when it listens");
    await writeAndDie(shop, setOff(uuid(1), "was_placed"));
    shop.pass(1_000);
    await tell();
    const isNoted = async () => {
      // The worker polls each second, and may just have begun to wait.
      shop.pass(100);
      return (await countNotes(node, shop.tenant, [1]))[0] === 1;
    };
    await until(isNoted, "what the entry says");
  } finally {
    await running.stop();
  }
}

function signal(engine: Engine): Promise<void> {
  return engine.transact((tx) => Promise.resolve(signalOutbox(tx)));
}

// commanded/eventstore#309 and pyeventsourcing/eventsourcing#305: Postgres notifications during
// a lost connection reach nobody, and a subscription keeps waiting. neohaskell/NeoHaskell#687:
// events that were committed meanwhile never reached the live projections.
Deno.test("a worker hears of work although no notification ever comes (Commanded's EventStore, eventsourcing, NeoHaskell)", async () => {
  await withShop(async (shop) => {
    const spoken: boolean[] = [];
    const deaf = (engine: Engine): Engine => {
      const inner = deafEngine(engine);
      return {
        ...inner,
        watch(key) {
          const watch = inner.watch(key);
          watch.changed.then((isChanged) => spoken.push(isChanged));
          return watch;
        },
      };
    };
    await workUntilNoted(shop, deaf, () => signal(shop.engine));
    assert.ok(spoken.every((isChanged) => !isChanged), "no watch has told of a change");
  });
});

// The same issues: a notification that is sent while the listener is only starting to listen.
Deno.test("a worker hears of what happened before it was listening (Commanded's EventStore)", async () => {
  await withShop(async (shop) => {
    const listening = Promise.withResolvers<void>();
    const late = (inner: Engine): Engine =>
      wrapEngine(inner, {
        watch: (key) => watchFrom(listening.promise, () => inner.watch(key)),
      });
    await workUntilNoted(shop, late, async () => {
      await signal(shop.engine);
      listening.resolve();
    });
  });
});

/** A watch that does not see changes made before it begins. */
function watchFrom(begin: Promise<void>, watch: () => Watch): Watch {
  const cancelled = Promise.withResolvers<boolean>();
  let isCancelled = false;
  let inner: Watch | undefined;
  const changed = begin.then(() => isCancelled ? false : (inner = watch()).changed);
  return {
    changed: Promise.race([changed, cancelled.promise]),
    cancel() {
      isCancelled = true;
      inner?.cancel();
      cancelled.resolve(false);
    },
  };
}

interface Begun {
  /** What was found in the streams. */
  readonly replayed: readonly string[];
  /** Where the log ended. */
  readonly end: LogPlace;
}

/**
 * Starts reading: takes everything stored so far as read, and the end of the log as the place to
 * go on from. `inOne`: both at one version. `meanwhile` runs after the first of the two reads.
 */
async function beginReading(
  engine: Engine,
  tenant: number,
  { ids, inOne, meanwhile }: {
    readonly ids: readonly string[];
    readonly inOne: boolean;
    readonly meanwhile: () => Promise<void>;
  },
): Promise<Begun> {
  const replay = async (tx: ReadTransaction) => {
    const heads = ids.map((id) => readHead(tx, tenant, streamKey("order", id)));
    const lengths = (await Promise.all(heads)).map(({ length }) => length);
    return ids.filter((_, at) => lengths[at]! > 0);
  };
  const endOf = async (tx: ReadTransaction) => await lastLogPlace(tx, tenant) ?? FEED_START;
  if (inOne) {
    return await engine.snapshot(async (tx) => {
      const replayed = await replay(tx);
      await meanwhile();
      return { replayed, end: await endOf(tx) };
    });
  }
  const replayed = await engine.snapshot(replay);
  await meanwhile();
  return { replayed, end: await engine.snapshot(endOf) };
}

// johanhaleby/occurrent#292 and johanhaleby/occurrent#208: events that were committed while a
// subscription switched from the replay to the live stream were in neither.
Deno.test("no event falls between what was there and what is told from now on (occurrent)", async () => {
  const missing = { replayed: [0], told: [2, 3] };
  assert.deepEqual(await handOver(false), missing, "the event at place 1 is in neither");
  assert.deepEqual(await handOver(true), { ...missing, told: [1, 2, 3] });
});

/** Positions of the four events that the replay and the log find. */
async function handOver(inOne: boolean): Promise<Record<"replayed" | "told", number[]>> {
  const found = { replayed: [] as number[], told: [] as number[] };
  await withShop(async (shop) => {
    const { engine, tenant } = shop;
    const ids = idsOf(4);
    const [old, during, underWay, next] = ids;
    const { node: slow, held } = shop.startHeld();
    const { service } = shop.start();
    await write(service, tenant, setOff(old!, "was_paid"));
    // It has read everything that it needs, and commits once the reader has begun.
    const commit = held.hold();
    const writing = write(slow.service, tenant, setOff(underWay!, "was_paid"));
    await commit.reached;
    const { replayed, end } = await beginReading(engine, tenant.number, {
      ids,
      inOne,
      meanwhile: async () => void await write(service, tenant, setOff(during!, "was_paid")),
    });
    commit.release();
    await writing;
    await write(service, tenant, setOff(next!, "was_paid"));
    const page = { after: end, limit: 100 };
    const told = await engine.snapshot((tx) => readLog(tx, tenant.number, page));
    found.replayed = replayed.map((id) => ids.indexOf(id));
    found.told = told.flatMap(({ entries }) =>
      entries.map(({ stream }) => ids.findIndex((id) => stream === streamKey("order", id)))
    );
  });
  return found;
}
