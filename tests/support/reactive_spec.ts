/**
 * A spec whose events have every kind of reaction that the tests need. `order` triggers the
 * reactions and `ledger` receives their events; each event type does one thing.
 */

import type { JsonObject } from "../../src/domain/json.ts";
import type { Written } from "../../src/domain/write/write.ts";
import type { EventPage } from "../../src/domain/reading.ts";
import type { StoredEvent } from "../../src/domain/event.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import type { Service } from "../../src/features/service.ts";
import { ACTOR, valueOf } from "./service_fixture.ts";

const plain = { schema: true, handler: [] };

const note = {
  aggregate_type: "ledger",
  id: "$.id",
  event_type: "was_noted",
  data: { order: "$.key" },
};

const order: JsonObject = {
  events: {
    /** Implies one event in the ledger with the same id. */
    was_placed: { ...plain, implications: [{ emit: note }] },
    /** Implies one event for each of `data.ids`. */
    was_spread: {
      ...plain,
      implications: [{
        map: {
          in: "$.data.ids",
          emit: { ...note, id: "$item", data: { order: "$.key", text: "$.data.text" } },
        },
      }],
    },
    /** Implies itself without end. */
    was_echoed: {
      ...plain,
      implications: [{
        emit: { aggregate_type: "order", id: "$.id", event_type: "was_echoed", data: "$.data" },
      }],
    },
    /**
     * The first implied event fits its schema only if `data.count` is a number; the second
     * always does.
     */
    was_counted: {
      ...plain,
      implications: [
        {
          emit: {
            aggregate_type: "ledger",
            id: "$.id",
            event_type: "was_counted",
            data: { count: "$.data.count" },
          },
        },
        { emit: note },
      ],
    },
    /** The first implied event fails if `data.id` is not an identifier. */
    was_sent: {
      ...plain,
      implications: [{ emit: { ...note, id: "$.data.id" } }, { emit: note }],
    },
    /**
     * Schedules a reminder after a minute, unless it is paid or, on another order, called off.
     */
    was_promised: {
      ...plain,
      implications: [{
        schedule: {
          delay: "60s",
          emit: {
            aggregate_type: "order",
            id: "$.id",
            event_type: "was_reminded",
            data: { of: "$.key" },
          },
          cancel_on: [
            { aggregate_type: "order", id: "$.key", event_type: "was_paid" },
            { aggregate_type: "order", id: "global", event_type: "was_called_off" },
          ],
        },
      }],
    },
    was_paid: plain,
    was_called_off: plain,
    was_reminded: plain,
    /** Schedules an event after 10 s, which in turn implies one. */
    was_delayed: {
      ...plain,
      implications: [{
        schedule: {
          delay: "10s",
          emit: { aggregate_type: "order", id: "$.id", event_type: "was_placed", data: {} },
        },
      }],
    },
  },
};

const ledger: JsonObject = {
  events: {
    was_noted: { schema: true, handler: { append: { target: "notes", value: "$.data" } } },
    was_counted: {
      schema: { type: "object", properties: { count: { type: "integer" } }, required: ["count"] },
      handler: [],
    },
  },
};

export const reactiveSpec: JsonObject = {
  aggregate_types: { order, ledger },
  agent_types: ["user"],
};

/** The same spec without `ledger` and everything that names it. */
export function specWithoutLedger(): JsonObject {
  return { aggregate_types: { order: { events: { was_placed: plain } } }, agent_types: ["user"] };
}

/** Makes a write of one event to an order. */
export function setOff(id: string, type: string, data: JsonObject = {}) {
  return setOffAll(id, [{ type, data }]);
}

export function setOffAll(id: string, events: readonly { type: string; data: JsonObject }[]) {
  return {
    form: events.length === 1 ? "single" as const : "batch" as const,
    targets: [{ aggregateType: "order", id, events }],
    metadata: { actor: ACTOR },
    requestId: "request-1",
  };
}

export async function write(
  service: Service,
  tenant: Tenant,
  request: ReturnType<typeof setOff>,
): Promise<Written> {
  return valueOf(await service.data.writeEvents(tenant, request));
}

/** All events of a stream, decoded. */
export async function eventsOf(
  service: Service,
  tenant: Tenant,
  aggregateType: string,
  id: string,
): Promise<StoredEvent[]> {
  const request = { aggregateType, id, direction: "forwards", count: 5_000 } as const;
  const page: EventPage = valueOf(await service.data.readEvents(tenant, request));
  return page.entries.map(({ raw }) => JSON.parse(raw) as StoredEvent);
}

/** Runs the workers until nothing is due; returns how much they did. */
export async function drain(service: Service): Promise<number> {
  let all = 0;
  for (let round = 0; round < 200; round++) {
    const { drainOutbox, drainTimers } = service.background;
    const done = await drainOutbox(100) + await drainTimers(1_600);
    all += done;
    if (done === 0) return all;
  }
  throw new Error("the workers found work again and again");
}

/** The depth of each queue that is not empty. */
export async function depthsOf({ background }: Service): Promise<Record<string, number>> {
  const measures = await background.measureQueues();
  const filled = measures.filter(({ depth }) => depth > 0);
  return Object.fromEntries(filled.map(({ queue, depth }) => [queue, depth]));
}
