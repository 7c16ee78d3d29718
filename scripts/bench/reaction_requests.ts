/** The spec for the rows about reactions, and the requests that trigger them. All text is ASCII. */

import { BENCH_SPEC, EVENT_BYTES, METADATA, type RequestBuilder, streamId } from "./requests.ts";

/** Events that one `was_split` implies. */
export const LINES = 5;
/** Steps of the saga; each except the last waits for its own event. */
export const SAGA_STEPS = 10;

const accountEvent = BENCH_SPEC.aggregate_types.account.events.was_credited;
const { schema: { properties } } = accountEvent;
/** Checked and folded like the events of the other rows, with `lines` in addition. */
const orderEvent = {
  handler: accountEvent.handler,
  schema: {
    ...accountEvent.schema,
    properties: {
      ...properties,
      delay_ms: { type: "integer" },
      lines: {
        type: "array",
        items: {
          type: "object",
          properties: { stock: { type: "string" }, quantity: { type: "integer" } },
          required: ["stock", "quantity"],
        },
      },
    },
  },
};
const receiptEvent = {
  schema: {
    type: "object",
    properties: { reference: { type: "string" }, amount: { type: "integer" } },
    required: ["reference", "amount"],
    additionalProperties: false,
  },
  handler: [{ increment: { target: "issued" } }],
};
const receiptData = { reference: "$.data.reference", amount: "$.data.amount" };
const plain = { schema: true, handler: [] };

/** Steps are numbered, so that each has its own name. */
function stepAt(number: number) {
  const stop = { aggregate_type: "stop", id: "$.data.stop" };
  return {
    name: `step_${number}`,
    emit: { ...stop, event_type: "was_requested", data: { step: number } },
    await: { ...stop, event_types: ["was_reached"] },
    timeout_ms: 24 * 60 * 60 * 1000,
  };
}

export const REACTION_SPEC = {
  agent_types: BENCH_SPEC.agent_types,
  aggregate_types: {
    order: {
      events: {
        was_noted: orderEvent,
        was_placed: {
          ...orderEvent,
          implications: [{
            emit: {
              aggregate_type: "receipt",
              id: "$.id",
              event_type: "was_issued",
              data: receiptData,
            },
          }],
        },
        was_split: {
          ...orderEvent,
          implications: [{
            map: {
              in: "$.data.lines",
              emit: {
                aggregate_type: "receipt",
                id: "$item.stock",
                event_type: "was_issued",
                data: receiptData,
              },
            },
          }],
        },
        was_put_off: {
          ...orderEvent,
          implications: [{
            schedule: {
              delay_ms: "$.data.delay_ms",
              emit: {
                aggregate_type: "receipt",
                id: "$.id",
                event_type: "was_issued",
                data: receiptData,
              },
            },
          }],
        },
      },
    },
    receipt: { events: { was_issued: receiptEvent } },
    journey: { events: { was_begun: plain } },
    stop: { events: { was_requested: plain, was_reached: plain } },
  },
  modules: {
    sagas: {
      journey: {
        trigger: { aggregate_type: "journey", event_type: "was_begun" },
        steps: Array.from({ length: SAGA_STEPS }, (_, index) => stepAt(index)),
      },
    },
  },
};

/** What the event of an order has beside the fields of every event of the bench. */
interface OrderExtras {
  readonly lines?: readonly { readonly stock: string; readonly quantity: number }[];
  readonly delay_ms?: number;
}

/** As long as the events of the other rows, as far as the extras leave room. */
function orderData(number: number, extras: OrderExtras): string {
  const fields = {
    amount: number % 1000,
    currency: "EUR",
    reference: `order-${number}`,
    booked_on: "2024-02-29",
    ...extras,
  };
  const start = `${JSON.stringify(fields).slice(0, -1)},"note":"`;
  return `${start}${"n".repeat(Math.max(0, EVENT_BYTES - start.length - 2))}"}`;
}

/** Single writes of orders, each with its own idempotency key. */
export function orderRequests({ write }: RequestBuilder) {
  const order = (stream: string, type: string, data: string) =>
    write(`/order/${stream}/${type}`, `{"data":${data},"metadata":${METADATA}}`);
  return {
    noted: (stream: string, number: number) => order(stream, "was_noted", orderData(number, {})),
    placed: (stream: string, number: number) => order(stream, "was_placed", orderData(number, {})),
    /** Implies one event in each stream that `stockAt` returns for the lines. */
    split(stream: string, number: number, stockAt: (line: number) => string) {
      const lines = Array.from({ length: LINES }, (_, line) => (
        { stock: stockAt(line), quantity: 1 }
      ));
      return order(stream, "was_split", orderData(number, { lines }));
    },
    putOff: (stream: string, number: number, delay_ms: number) =>
      order(stream, "was_put_off", orderData(number, { delay_ms })),
    /** `count` of them in one stream. */
    putOffBatch: (stream: string, count: number, delay_ms: number) =>
      write(
        `/order/${stream}`,
        batchOf(count, (index) => ["was_put_off", orderData(index, { delay_ms })]),
      ),
  };
}

/** Requests that start sagas from `first` on, and that move one a step on. */
export function sagaRequests({ write }: RequestBuilder) {
  const reached = `{"data":{},"metadata":${METADATA}}`;
  return {
    begin: (first: number, count: number) =>
      write(
        `/journey/${streamId(first)}`,
        batchOf(count, (index) => ["was_begun", `{"stop":"${streamId(first + index)}"}`]),
      ),
    reach: (saga: number) => write(`/stop/${streamId(saga)}/was_reached`, reached),
  };
}

function batchOf(count: number, eventAt: (index: number) => readonly [string, string]): string {
  const events = Array.from({ length: count }, (_, index) => {
    const [type, data] = eventAt(index);
    return `{"type":"${type}","data":${data}}`;
  });
  return `{"events":[${events.join(",")}],"metadata":${METADATA}}`;
}
