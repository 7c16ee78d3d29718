/**
 * A shop whose orders are fulfilled by a saga, on a real engine and without workers. A test
 * decides which events the sagas see, and when.
 */

import assert from "node:assert/strict";
import { createSagaAdvancer, type SagaAdvancer } from "../../src/features/sagas/advance_sagas.ts";
import { createCombiner } from "../../src/features/writes/combine.ts";
import { deploySpec } from "../../src/features/specs/deploy_spec.ts";
import { createWriter } from "../../src/features/writes/write_events.ts";
import { decodeEvent, type StoredEvent } from "../../src/domain/event.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { OutboxWork } from "../../src/domain/reaction/outbox_entry.ts";
import type { SagaView } from "../../src/domain/saga/view.ts";
import { streamKey } from "../../src/domain/identifier.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import { QUEUE_SHARDS } from "../../src/domain/fairness/work_share.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { openSpecCache, type SpecCache } from "../../src/features/base/current_spec.ts";
import { showSaga, showSagas } from "../../src/features/sagas/read_sagas.ts";
import { openStepNames } from "../../src/features/sagas/read_sagas.ts";
import { listOutbox } from "../../src/store/reactions/outbox.ts";
import { readEvents } from "../../src/store/streams/stream_events.ts";
import { readHead } from "../../src/store/streams/streams.ts";
import { listDueTimers, type Timer } from "../../src/store/timers.ts";
import { type FakeHost, fakeHost } from "./fake_host.ts";
import { noAsker, noOutsideAsker } from "./no_modules.ts";
import { ACTOR, valueOf } from "./service_fixture.ts";
import { withTemporaryEngine } from "./temporary_engine.ts";

export const TENANT: Tenant = { instanceId: "shop", environment: "test", number: 1 };

const anything: JsonObject = { schema: true, handler: [] };

/** Declares `{order: ["was_placed"]}` as aggregate types whose events take any data. */
export function typesOf(events: Record<string, readonly string[]>): JsonObject {
  return Object.fromEntries(
    Object.entries(events).map(([type, names]) => [
      type,
      { events: Object.fromEntries(names.map((name) => [name, anything])) },
    ]),
  );
}

/** Reserves stock, waits a minute for the payment, confirms; releases the stock if that fails. */
export const FULFILMENT: JsonObject = {
  trigger: { aggregate_type: "order", event_type: "was_placed" },
  steps: [
    {
      name: "reserve",
      emit: {
        aggregate_type: "inventory",
        id: "$.data.sku",
        event_type: "was_reserved",
        data: { order: "$.id" },
      },
      compensate: {
        aggregate_type: "inventory",
        id: "$.data.sku",
        event_type: "was_released",
        data: { order: "$.id" },
      },
    },
    {
      name: "charge",
      emit: { aggregate_type: "payment", id: "$.id", event_type: "was_requested" },
      await: {
        aggregate_type: "payment",
        event_types: ["was_captured"],
        failure_types: ["was_refused"],
      },
      timeout_ms: 60_000,
    },
    { name: "confirm", emit: { aggregate_type: "order", id: "$.id", event_type: "was_confirmed" } },
  ],
};

export const SHOP: JsonObject = {
  aggregate_types: typesOf({
    order: ["was_placed", "was_confirmed"],
    inventory: ["was_reserved", "was_released"],
    payment: ["was_requested", "was_captured", "was_refused"],
  }),
  agent_types: ["user"],
  singletons: ["o1", "o2", "o3", "stock"],
  modules: { sagas: { fulfilment: FULFILMENT } },
};

export interface SagaShop {
  readonly engine: Engine;
  readonly host: FakeHost;
  readonly specs: SpecCache;
  readonly advancer: SagaAdvancer;
  deploy(spec: JsonObject): Promise<void>;
  /** Writes one event as a client would. */
  write(type: string, id: string, event: string, data?: JsonObject): Promise<void>;
  /** All entries of the outbox. */
  pending(): Promise<OutboxWork[]>;
  /**
   * Shows the sagas everything that waits for them, and what follows from it, until nothing is
   * left.
   */
  showAll(): Promise<void>;
  /** Timers that are due at the host's time. */
  dueTimers(): Promise<Timer[]>;
  fireTimers(): Promise<void>;
  /** Event types of one stream, in order. */
  typesIn(type: string, id: string): Promise<string[]>;
  eventsIn(type: string, id: string): Promise<StoredEvent[]>;
  /** All sagas, oldest first. */
  sagas(): Promise<SagaView[]>;
}

/** Opens the shop on an engine with `spec` deployed. The caller closes `specs`. */
export async function openShop(
  engine: Engine,
  spec: JsonObject = SHOP,
  host = fakeHost(),
): Promise<SagaShop> {
  const specs = openSpecCache(engine, host);
  const combiner = createCombiner(engine, host);
  const advancer = createSagaAdvancer(
    { engine, host, specs, watched: combiner.watched, outside: noOutsideAsker(engine) },
  );
  const writer = createWriter(engine, host, specs, combiner, {
    ownWaitMs: () => 0,
    drainBeforeReply: () => Promise.resolve(),
  }, noAsker);
  const { number } = TENANT;

  async function deploy(spec: JsonObject): Promise<void> {
    const request = { spec, force: true, dryRun: false };
    valueOf(await deploySpec({ engine, host, specs }, TENANT, request));
  }

  async function write(aggregateType: string, id: string, type: string, data: JsonObject = {}) {
    const targets = [{ aggregateType, id, events: [{ type, data }] }];
    const metadata = { actor: ACTOR };
    const request = { form: "single", targets, metadata, requestId: "request-1" } as const;
    valueOf(await writer.writeEvents(TENANT, request));
  }

  async function pending(): Promise<OutboxWork[]> {
    const shards = Array.from({ length: QUEUE_SHARDS.outbox }, (_, shard) => shard);
    const pages = await engine.snapshot((tx) =>
      Promise.all(shards.map((shard) => listOutbox(tx, shard, { limit: 10_000 })))
    );
    return pages.flatMap(({ works }) => works);
  }

  async function showAll(): Promise<void> {
    for (let round = 0; round < 1_000; round++) {
      const works = await pending();
      if (works.length === 0) return;
      const causes = works.map((work) => ({ kind: "event", work }) as const);
      await advancer.advance(number, causes, 0);
    }
    assert.fail("the outbox does not become empty");
  }

  async function dueTimers(): Promise<Timer[]> {
    const shards = Array.from({ length: QUEUE_SHARDS.timer }, (_, shard) => shard);
    const lists = await engine.snapshot((tx) =>
      Promise.all(
        shards.map((shard) => listDueTimers(tx, shard, { nowMs: host.nowMs(), limit: 10_000 })),
      )
    );
    return lists.flat();
  }

  async function fireTimers(): Promise<void> {
    let timers = await dueTimers();
    for (let round = 0; round < 1_000 && timers.length > 0; round++) {
      const causes = timers.map((timer) => ({ kind: "timer", timer }) as const);
      await advancer.advance(number, causes, 0);
      timers = await dueTimers();
    }
    assert.deepEqual(timers, []);
  }

  function eventsIn(type: string, id: string): Promise<StoredEvent[]> {
    return engine.snapshot(async (tx) => {
      const key = streamKey(type, id);
      const { length } = await readHead(tx, number, key);
      const window = { from: 0, to: length, bytesMax: Infinity };
      const events = await readEvents(tx, number, key, window);
      return events.map(({ raw }) => decodeEvent(raw));
    });
  }

  async function sagas(): Promise<SagaView[]> {
    const { data } = valueOf(await showSagas(engine, TENANT, { limit: 200 }));
    const reader = { engine, host, stepNames: openStepNames(engine, host) };
    const views = data.map(async ({ saga_id }) => valueOf(await showSaga(reader, TENANT, saga_id)));
    return (await Promise.all(views)).reverse();
  }

  await deploy(spec);
  return {
    engine,
    host,
    specs,
    advancer,
    deploy,
    write,
    pending,
    showAll,
    dueTimers,
    fireTimers,
    typesIn: async (type, id) => (await eventsIn(type, id)).map((event) => event.type),
    eventsIn,
    sagas,
  };
}

/** Runs `body` with a shop on an empty engine; closes and removes everything afterwards. */
export async function withShop(
  body: (shop: SagaShop) => Promise<void>,
  spec: JsonObject = SHOP,
  wrap: (engine: Engine) => Engine = (engine) => engine,
): Promise<void> {
  await withTemporaryEngine(async (engine) => {
    const shop = await openShop(wrap(engine), spec);
    try {
      await body(shop);
    } finally {
      await shop.specs.close();
    }
  });
}
