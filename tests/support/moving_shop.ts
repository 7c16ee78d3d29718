/**
 * A shop with pending work of every kind, for tests that transfer it to another store. Its
 * writer leaves everything to the workers, so a test decides when work is done. `order`
 * triggers the work; `ledger` and `payment` receive the events.
 */

import { createCombiner } from "../../src/features/writes/combine.ts";
import { createWriter } from "../../src/features/writes/write_events.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import { createAccess } from "../../src/features/access/access_service.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { openSpecCache } from "../../src/features/base/current_spec.ts";
import { createService, type Service } from "../../src/features/service.ts";
import { readInstance, tenantOf } from "../../src/store/access/instances.ts";
import type { FakeHost } from "./fake_host.ts";
import { drain, eventsOf, reactiveSpec, setOffAll } from "./reactive_spec.ts";
import { valueOf } from "./service_fixture.ts";
import { imported, importText } from "./transfer_fixtures.ts";
import { noAsker } from "./no_modules.ts";

const plain = { schema: true, handler: [] };

function paymentEvent(event_type: string): JsonObject {
  return { aggregate_type: "payment", id: "$.id", event_type, data: { order: "$.key" } };
}

/** Reserves an order, then awaits its payment for 45 s; without payment it releases the order. */
const fulfilment: JsonObject = {
  trigger: { aggregate_type: "order", event_type: "was_placed" },
  steps: [
    {
      name: "reserve",
      emit: paymentEvent("was_reserved"),
      compensate: paymentEvent("was_released"),
    },
    {
      name: "charge",
      emit: paymentEvent("was_requested"),
      await: {
        aggregate_type: "order",
        id: "$.id",
        event_types: ["was_paid"],
        failure_types: ["was_called_off"],
      },
      timeout_ms: 45_000,
    },
    { name: "confirm", emit: paymentEvent("was_confirmed") },
  ],
};

const payment = {
  events: {
    was_reserved: plain,
    was_released: plain,
    was_requested: plain,
    was_confirmed: plain,
  },
};

export const movingSpec: JsonObject = {
  ...reactiveSpec,
  aggregate_types: { ...reactiveSpec.aggregate_types as JsonObject, payment },
  modules: { sagas: { fulfilment } },
};

export interface Look {
  readonly events: readonly unknown[];
  readonly scheduled: readonly string[];
  readonly sagas: readonly unknown[];
}

/**
 * The look with order-dependent parts removed. Work that is due at the same instant has no
 * order, so positions in streams are dropped, and ids of sagas, which derive from the position
 * of their trigger event.
 */
export function withoutOrder({ events, scheduled, sagas }: Look): readonly string[] {
  const places = /\\?"stream_id\\?":\\?"\d+\\?"|"saga_id":"\w+"/g;
  return [...events, ...scheduled, ...sagas]
    .map((each) => JSON.stringify(each).replaceAll(places, ""))
    .sort();
}

export interface MovingShop {
  readonly engine: Engine;
  readonly host: FakeHost;
  readonly service: Service;
  readonly tenant: Tenant;
  /** Writes events to an order and does none of the work that follows. */
  write(id: string, ...types: readonly string[]): Promise<void>;
  /** Does what is due until nothing is. */
  work(): Promise<void>;
  /** What a client can see: the events of all types with these ids, scheduled events, sagas. */
  look(ids: readonly string[]): Promise<Look>;
  close(): Promise<void>;
}

export function openMovingShop(engine: Engine, host: FakeHost, tenant: Tenant): MovingShop {
  const access = createAccess(engine, host, { jwtSecret: new Uint8Array(32) });
  const service = createService(engine, host, access);
  const specs = openSpecCache(engine, host);
  const writer = createWriter(engine, host, specs, createCombiner(engine, host), {
    ownWaitMs: () => 0,
    drainBeforeReply: () => Promise.resolve(),
  }, noAsker);

  async function look(ids: readonly string[]): Promise<Look> {
    const events: unknown[] = [];
    for (const id of ids) {
      for (const type of ["order", "ledger", "payment"]) {
        for (const event of await eventsOf(service, tenant, type, id)) {
          // After a transfer another host draws the ids of scheduled events, so leave them out.
          const { scheduled, ...metadata } = event.metadata;
          events.push({ ...event, metadata: { ...metadata, fire_at: scheduled?.fire_at } });
        }
      }
    }
    const scheduled = valueOf(await service.data.listScheduled(tenant, { limit: 200 })).data
      .map((each) => JSON.stringify({ ...each, scheduled_id: "" })).sort();
    const page = valueOf(await service.data.listSagas(tenant, { limit: 200 }));
    const sagas: unknown[] = [];
    for (const { saga_id } of page.data) {
      sagas.push(valueOf(await service.data.readSaga(tenant, saga_id)));
    }
    return { events, scheduled, sagas };
  }

  return {
    engine,
    host,
    service,
    tenant,
    async write(id, ...types) {
      const events = types.map((type) => ({ type, data: {} }));
      valueOf(await writer.writeEvents(tenant, setOffAll(id, events)));
    },
    work: async () => void await drain(service),
    look,
    async close() {
      await service.close();
      await specs.close();
      await access.close();
    },
  };
}

/** Imports the file into another store and opens the shop there. */
export async function openMovedShop(
  engine: Engine,
  host: FakeHost,
  text: string,
  environment: Tenant["environment"] = "test",
): Promise<MovingShop> {
  const { instanceId } = imported(await importText(engine, host, text));
  const record = await engine.snapshot((tx) => readInstance(tx, instanceId));
  return openMovingShop(engine, host, tenantOf(record!, environment));
}
