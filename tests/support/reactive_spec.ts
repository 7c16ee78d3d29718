/**
 * A spec whose events set others off, in every way that the tests need. `order` sets off, `ledger`
 * is written to; each event type does one thing.
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
    /** One event in the ledger of the same id. */
    was_placed: { ...plain, implications: [{ emit: note }] },
    /** One event for each of `data.ids`. */
    was_spread: {
      ...plain,
      implications: [{
        map: {
          in: "$.data.ids",
          emit: { ...note, id: "$item", data: { order: "$.key", text: "$.data.text" } },
        },
      }],
    },
    /** Goes on and on. */
    was_echoed: {
      ...plain,
      implications: [{
        emit: { aggregate_type: "order", id: "$.id", event_type: "was_echoed", data: "$.data" },
      }],
    },
    /** What it implies fits its schema only where `data.count` is a number; the second always. */
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
    /** The first entry comes to nothing where `data.id` is no identifier. */
    was_sent: {
      ...plain,
      implications: [{ emit: { ...note, id: "$.data.id" } }, { emit: note }],
    },
    /** A reminder after a minute, unless it is paid or, on another order, called off. */
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
    /** Implies nothing when it fires late, but one event when it does. */
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

/** The same with `ledger` taken out, and with it everything that names it. */
export function specWithoutLedger(): JsonObject {
  return { aggregate_types: { order: { events: { was_placed: plain } } }, agent_types: ["user"] };
}

/** A write of one event to an order. */
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

/** Lets the workers do what is due, until nothing is. */
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

/** How much is in each queue that is not empty. */
export async function depthsOf({ background }: Service): Promise<Record<string, number>> {
  const measures = await background.measureQueues();
  const filled = measures.filter(({ depth }) => depth > 0);
  return Object.fromEntries(filled.map(({ queue, depth }) => [queue, depth]));
}
