/**
 * The specs that the worlds of the simulation deploy: implications, scheduled events, a saga.
 * There is every kind of implication, scheduled events that events cancel and, in some worlds,
 * listeners. Three specs are deployed one after another while work is under way.
 *
 * Each part is implemented a second time: `expected_events.ts` says what each event implies,
 * `expected_states.ts` what the states are, `expected_deliveries.ts` which listener gets what.
 */

import type { JsonObject, JsonValue } from "../../src/domain/json.ts";

/**
 * 1 is as below; 2 implies more, has one more step and refuses `was_confirmed`; 3 cannot undo.
 */
export type SpecNumber = 1 | 2 | 3;

export const REMINDER_MS = 2_000;
const DELAY_MS = 1_000;
export const TIMEOUT_MS = 1_500;

/** A client's `data` has a unique number `n`, which everything that follows from it repeats. */
const OF: JsonObject = { of: "$.data.n" };
const NEEDS_GRADE: JsonObject = {
  type: "object",
  required: ["grade"],
  properties: { grade: { type: "string" } },
};

/** The handler is added later, because all events share one: {@link foldOf}. */
function plain(schema: JsonValue = true): JsonObject {
  return { schema };
}

function implying(...implications: JsonObject[]): JsonObject {
  return { ...plain(), implications };
}

function emit(aggregate_type: string, id: string, event_type: string, data: JsonObject) {
  return { aggregate_type, id, event_type, data };
}

function ledger(event_type: string, data: JsonObject = OF, id = "$.id") {
  return emit("ledger", id, event_type, data);
}

const FLAGGED: JsonObject = { eq: ["$.data.flag", true] };

function orderEvents(number: SpecNumber): Record<string, JsonObject> {
  const audited = number === 2 ? [{ emit: ledger("was_audited") }] : [];
  return {
    was_placed: implying(
      { emit: ledger("was_noted", { ...OF, spec: number }) },
      { condition: FLAGGED, emit: ledger("was_flagged") },
      ...audited,
    ),
    was_spread: implying({ map: { in: "$.data.ids", emit: ledger("was_noted", OF, "$item") } }),
    was_piped: implying({
      pipeline: [
        { condition: FLAGGED, emit: ledger("was_flagged") },
        { emit: ledger("was_noted") },
      ],
    }),
    was_echoed: implying({ emit: emit("order", "$.id", "was_echoed", { n: "$.data.n" }) }),
    was_counted: implying(
      { emit: ledger("was_counted", { ...OF, count: "$.data.count" }) },
      { emit: ledger("was_noted") },
    ),
    was_sent: implying(
      { emit: ledger("was_noted", OF, "$.data.to") },
      { emit: ledger("was_flagged") },
    ),
    was_promised: implying({
      schedule: {
        delay_ms: REMINDER_MS,
        emit: emit("order", "$.id", "was_reminded", OF),
        cancel_on: [
          { aggregate_type: "order", id: "$.key", event_type: "was_paid" },
          { aggregate_type: "order", id: "global", event_type: "was_called_off" },
        ],
      },
    }),
    was_delayed: implying({
      schedule: {
        delay_ms: DELAY_MS,
        emit: emit("order", "$.data.to", "was_placed", { n: "$.data.n", flag: "$.data.flag" }),
      },
    }),
    was_paid: plain(),
    was_called_off: plain(),
    was_reminded: plain(),
    was_requested: plain(),
    was_confirmed: {
      ...plain(number === 2 ? NEEDS_GRADE : true),
      implications: [{ emit: ledger("was_noted", { of: "$.data.of" }) }],
    },
  };
}

const COUNT: JsonObject = {
  type: "object",
  required: ["count"],
  properties: { count: { type: "integer" } },
};

/** Reserves, charges and waits, ships what is to be shipped, and confirms if money arrived. */
function fulfilment(number: SpecNumber): JsonObject {
  const to = (type: string, event: string) => emit(type, "$.id", event, OF);
  const announce = { name: "announce", emit: ledger("was_announced") };
  const steps: JsonObject[] = [
    {
      name: "reserve",
      emit: to("stock", "was_reserved"),
      compensate: to("stock", "was_released"),
    },
    ...(number === 2 ? [announce] : []),
    {
      name: "charge",
      // Written to another stream than the awaited one, so that only the wait guards that
      // stream.
      emit: to("stock", "was_charged"),
      await: {
        aggregate_type: "payment",
        event_types: ["was_captured"],
        failure_types: ["was_refused"],
      },
      timeout_ms: TIMEOUT_MS,
      compensate: to("payment", "was_refunded"),
    },
    {
      name: "ship",
      condition: FLAGGED,
      else: "skip",
      emit: to("stock", "was_shipped"),
      compensate: to("stock", "was_returned"),
    },
    {
      name: "confirm",
      condition: { gt: ["$steps.charge.data.amount", 0] },
      emit: to("order", "was_confirmed"),
    },
  ];
  const condition = { eq: ["$.data.saga", true] };
  return {
    trigger: { aggregate_type: "order", event_type: "was_requested", condition },
    steps,
  };
}

/** A state lists each event of its stream, in order, and the spec that folded it. */
function foldOf(number: SpecNumber): JsonObject {
  const seen = { type: "$.type", n: "$.data.n", of: "$.data.of", spec: number };
  return { append: { target: "seen", value: seen } };
}

function foldAll(types: Record<string, Record<string, JsonObject>>, handler: JsonObject) {
  return Object.fromEntries(
    Object.entries(types).map(([type, events]) => [type, {
      events: Object.fromEntries(
        Object.entries(events).map(([name, event]) => [name, { ...event, handler }]),
      ),
    }]),
  );
}

/** `hook` moves and changes its secret with each spec; the third spec has no `books`. */
function listenersOf(number: SpecNumber): JsonObject {
  const hook = {
    url: `https://hook.example/spec-${number}`,
    secret: `a secret of spec ${number}`,
    events: ["payment.*", "order.was_reminded", "order.was_called_off"],
  };
  const books = {
    url: "https://books.example/",
    secret: "a secret of the books",
    events: ["ledger.was_noted"],
  };
  return number === 3 ? { hook } : { hook, books };
}

export function worldSpec(number: SpecNumber, hasListeners: boolean): JsonObject {
  const ledgerEvents = { was_noted: plain(), was_flagged: plain(), was_audited: plain() };
  const stockEvents = {
    was_charged: plain(),
    was_reserved: plain(),
    was_shipped: plain(),
    was_returned: plain(),
  };
  const released = plain(number === 3 ? NEEDS_GRADE : true);
  const types = {
    order: orderEvents(number),
    ledger: { ...ledgerEvents, was_announced: plain(), was_counted: plain(COUNT) },
    stock: { ...stockEvents, was_released: released },
    payment: { was_captured: plain(), was_refused: plain(), was_refunded: plain() },
  };
  return {
    aggregate_types: foldAll(types, foldOf(number)),
    agent_types: ["user"],
    singletons: ["a", "b", "c", "poisoned"],
    modules: {
      sagas: { fulfilment: fulfilment(number) },
      ...hasListeners && { listeners: listenersOf(number) },
    },
  };
}
