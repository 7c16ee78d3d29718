/**
 * The shop that the tests of the console look at. One order sets everything off that Daybook knows:
 * implied events, a scheduled event, a saga with compensation, and deliveries to a listener.
 */

const FREE = { type: "object", additionalProperties: true };

function moneyOf(name: string) {
  return {
    type: "object",
    properties: { [name]: { type: "number", minimum: 0, description: "In euros" } },
    required: [name],
    additionalProperties: false,
  };
}

const order = {
  description: "What one customer buys.",
  events: {
    was_placed: {
      description: "A customer has sent an order.",
      schema: {
        type: "object",
        properties: {
          customer: { type: "string", minLength: 1 },
          total: { type: "number", minimum: 0, description: "In euros" },
          channel: { enum: ["web", "phone"] },
          gift: { type: "boolean" },
          lines: {
            type: "array",
            items: {
              type: "object",
              properties: {
                sku: { type: "string", pattern: "^[A-Z]+-[0-9]+$" },
                qty: { type: "integer", minimum: 1 },
              },
              required: ["sku", "qty"],
              additionalProperties: false,
            },
          },
        },
        required: ["customer", "total"],
        additionalProperties: false,
      },
      handler: [
        { merge: { target: "", value: "$.data" } },
        { set: { target: "status", value: "placed" } },
      ],
      implications: [
        {
          emit: {
            aggregate_type: "customer",
            id: "$.data.customer",
            event_type: "had_order",
            data: { order: "$.id", total: "$.data.total" },
          },
        },
        {
          schedule: {
            delay: "24h",
            emit: {
              aggregate_type: "order",
              id: "$.id",
              event_type: "was_declined",
              data: { reason: "not paid within a day" },
            },
            cancel_on: [{ aggregate_type: "order", id: "$.id", event_type: "was_paid" }],
          },
        },
      ],
    },
    was_paid: {
      schema: moneyOf("amount"),
      handler: [
        { set: { target: "status", value: "paid" } },
        { set: { target: "paid", value: "$.data.amount" } },
      ],
    },
    was_declined: {
      schema: {
        type: "object",
        properties: { reason: { type: "string" } },
        required: ["reason"],
        additionalProperties: false,
      },
      handler: [
        { set: { target: "status", value: "declined" } },
        { set: { target: "reason", value: "$.data.reason" } },
      ],
    },
    was_noted: {
      schema: FREE,
      handler: { append: { target: "notes", value: "$.data" } },
    },
  },
};

const customer = {
  description: "Somebody who buys.",
  events: {
    was_registered: {
      schema: {
        type: "object",
        properties: { name: { type: "string", minLength: 1 }, email: { type: "string" } },
        required: ["name"],
        additionalProperties: false,
      },
      handler: { merge: { target: "", value: "$.data" } },
    },
    had_order: {
      schema: FREE,
      handler: [
        { increment: { target: "orders", by: 1 } },
        { increment: { target: "spent", by: "$.data.total" } },
      ],
      implications: [{
        emit: {
          aggregate_type: "ledger",
          id: "main",
          event_type: "was_booked",
          data: { customer: "$.id", amount: "$.data.total" },
        },
      }],
    },
  },
};

const plain = { schema: FREE, handler: { merge: { target: "", value: "$.data" } } };

/** Payments are asked for by the saga; whoever plays the bank captures or refuses them. */
const payment = {
  events: { was_requested: plain, was_captured: plain, was_refused: plain },
};

const stock = {
  events: {
    was_reserved: { schema: FREE, handler: { decrement: { target: "free", by: 1 } } },
    was_released: { schema: FREE, handler: { increment: { target: "free", by: 1 } } },
  },
};

const fulfilment = {
  trigger: { aggregate_type: "order", event_type: "was_placed" },
  steps: [
    {
      name: "reserve",
      emit: { aggregate_type: "stock", id: "main", event_type: "was_reserved" },
      compensate: { aggregate_type: "stock", id: "main", event_type: "was_released" },
    },
    {
      name: "charge",
      emit: {
        aggregate_type: "payment",
        id: "$.id",
        event_type: "was_requested",
        data: { amount: "$.data.total" },
      },
      await: {
        aggregate_type: "payment",
        event_types: ["was_captured"],
        failure_types: ["was_refused"],
      },
      timeout_ms: 3_600_000,
    },
  ],
};

/** `listenerUrl`: where deliveries of orders go. */
export function consoleShopSpec(listenerUrl: string): object {
  return {
    title: "Shop",
    agent_types: ["user", "staff"],
    target_types: ["customer"],
    singletons: ["main"],
    aggregate_types: {
      order,
      customer,
      payment,
      stock,
      ledger: {
        events: {
          was_booked: {
            schema: FREE,
            handler: { increment: { target: "sum", by: "$.data.amount" } },
          },
        },
      },
    },
    modules: {
      sagas: { fulfilment },
      listeners: {
        billing: { url: listenerUrl, secret: "0123456789abcdef", events: ["order.*"] },
      },
    },
  };
}

/** A table of all orders, kept up to date. */
export const ORDERS_TABLE = {
  name: "orders",
  for_each: "order",
  sources: { order: "$key", customer: { type: "customer", id: "$.order.customer" } },
  select: {
    status: { path: "$.order.status", type: "string" },
    total: { path: "$.order.total", type: "number" },
    name: { path: "$.customer.name", type: "string" },
  },
};
