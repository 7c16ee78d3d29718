/**
 * The data model of the shop: products with a stock, and orders. `daybook deploy spec.ts` sends it
 * to a server. The types of events and states follow from it, so nothing is generated.
 */

import { defineSpec, type TypesOf } from "@daybook/client";

export const spec = defineSpec({
  title: "Shop",
  agent_types: ["customer", "staff"],
  aggregate_types: {
    product: {
      description: "Something that is sold. Its state knows how many are left.",
      events: {
        was_listed: {
          schema: {
            type: "object",
            properties: {
              name: { type: "string", minLength: 1 },
              price: { type: "number", minimum: 0 },
            },
            required: ["name", "price"],
            additionalProperties: false,
          },
          handler: [
            { merge: { target: "", value: "$.data" } },
            { set: { target: "stock", value: 0 } },
          ],
        },
        stock_was_added: {
          schema: {
            type: "object",
            properties: { quantity: { type: "integer", minimum: 1 } },
            required: ["quantity"],
            additionalProperties: false,
          },
          handler: { increment: { target: "stock", by: "$.data.quantity" } },
        },
        was_sold: {
          schema: {
            type: "object",
            properties: { quantity: { type: "integer", minimum: 1 } },
            required: ["quantity"],
            additionalProperties: false,
          },
          handler: { decrement: { target: "stock", by: "$.data.quantity" } },
          // However many buy at once, no more is sold than there is.
          guards: [{
            require: { gte: ["@.stock", "$.data.quantity"] },
            message: "Not that many are left",
          }],
        },
      },
    },
    order: {
      description: "What one customer buys.",
      events: {
        was_placed: {
          schema: {
            type: "object",
            properties: { customer: { type: "string", minLength: 1 } },
            required: ["customer"],
            additionalProperties: false,
          },
          handler: [
            { set: { target: "customer", value: "$.data.customer" } },
            { set: { target: "status", value: "open" } },
            { set: { target: "lines", value: [] } },
            { set: { target: "total", value: 0 } },
          ],
          // An order that nobody pays within a day is cancelled.
          implications: [{
            schedule: {
              delay: "24h",
              emit: {
                aggregate_type: "order",
                id: "$.key",
                event_type: "was_cancelled",
                data: { reason: "not paid within a day" },
              },
              cancel_on: [{ aggregate_type: "order", id: "$.key", event_type: "was_paid" }],
            },
          }],
        },
        line_was_added: {
          schema: {
            type: "object",
            properties: {
              product: { type: "string" },
              quantity: { type: "integer", minimum: 1 },
              price: { type: "number", minimum: 0, description: "Of one piece" },
              amount: { type: "number", minimum: 0, description: "Of the whole line" },
            },
            required: ["product", "quantity", "price", "amount"],
            additionalProperties: false,
          },
          handler: [
            { append: { target: "lines", value: "$.data" } },
            { increment: { target: "total", by: "$.data.amount" } },
          ],
        },
        was_paid: {
          schema: {
            type: "object",
            properties: { amount: { type: "number", minimum: 0 } },
            required: ["amount"],
            additionalProperties: false,
          },
          handler: { set: { target: "status", value: "paid" } },
        },
        was_cancelled: {
          schema: {
            type: "object",
            properties: { reason: { type: "string" } },
            required: ["reason"],
            additionalProperties: false,
          },
          handler: {
            if: { eq: ["@.status", "open"] },
            then: [
              { set: { target: "status", value: "cancelled" } },
              { set: { target: "reason", value: "$.data.reason" } },
            ],
          },
        },
      },
    },
  },
});

/** For `createClient<Shop>`: events and states with their types. */
export type Shop = TypesOf<typeof spec>;
