/** A shop whose event types have guards: the spec of the golden cases in `tests/golden/guards`. */

import type { JsonObject } from "../../src/domain/json.ts";

const QUANTITY = { type: "object", required: ["quantity"] };
const PRODUCT = { type: "product", id: "$.data.product_id" };

export const PRODUCT_EVENTS: JsonObject = {
  was_stocked: {
    schema: QUANTITY,
    handler: { increment: { target: "stock", by: "$.data.quantity" } },
  },
  was_sold: {
    schema: QUANTITY,
    handler: { decrement: { target: "stock", by: "$.data.quantity" } },
    allow_skip_occ: true,
    guards: [
      { require: { gte: ["@.stock", "$.data.quantity"] }, message: "Not that many are left" },
      { require: { lte: ["$.data.quantity", 5] }, message: "At most five at a time" },
    ],
  },
  was_checked: {
    schema: true,
    handler: [],
    guards: [{
      require: {
        and: [
          { eq: ["$.key", "$.data.key"] },
          { eq: ["$.id", "$.data.id"] },
          { eq: ["$.metadata.actor.type", "$.data.by"] },
        ],
      },
      message: "Only as it says",
    }],
  },
  was_tagged: {
    schema: true,
    handler: [],
    guards: [{ require: { ne: ["$.data.tag?", "old"] }, message: "It needs a tag" }],
  },
  was_doubled: {
    schema: true,
    handler: [],
    guards: [{
      with: { self: PRODUCT },
      require: { eq: ["$.with.self.stock", "@.stock"] },
      message: "It is another one",
    }],
  },
};

const ORDER_EVENTS: JsonObject = {
  was_placed: {
    schema: true,
    handler: [
      { set: { target: "quantity", value: "$.data.quantity" } },
      { set: { target: "product_id", value: "$.data.product_id" } },
    ],
    guards: [{
      with: { product: PRODUCT },
      require: { gte: ["$.with.product.stock", "$.data.quantity"] },
      message: "The product has not that many",
    }],
  },
  was_shipped: {
    schema: true,
    handler: { set: { target: "shipped", value: true } },
    guards: [{
      with: { product: { type: "product", id: "@.product_id" } },
      require: { gte: ["$.with.product.stock", "@.quantity"] },
      message: "The goods are gone",
    }],
  },
  was_linked: {
    schema: true,
    handler: [],
    guards: [{
      with: { product: PRODUCT },
      require: { eq: ["$.with.product", {}] },
      message: "It exists",
    }],
  },
  was_noted: {
    schema: { type: "object", properties: { text: { type: "string" } } },
    handler: [],
  },
};

/** Two on duty: one may leave while the other stays. */
export const DOCTOR: JsonObject = {
  events: {
    has_come: { schema: true, handler: { set: { target: "on", value: true } } },
    has_left: {
      schema: true,
      handler: { set: { target: "on", value: false } },
      guards: [{
        with: { other: { type: "doctor", id: "$.data.other" } },
        require: { eq: ["$.with.other.on", true] },
        message: "Somebody has to stay",
      }],
    },
  },
};

export const guardedSpec: JsonObject = {
  agent_types: ["user"],
  aggregate_types: { product: { events: PRODUCT_EVENTS }, order: { events: ORDER_EVENTS } },
};
