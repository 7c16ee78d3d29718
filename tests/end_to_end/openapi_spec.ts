/** The spec with which the OpenAPI document is tried. */

import type { JsonObject } from "../../src/domain/json.ts";
import { FULFILMENT, typesOf } from "../support/saga_fixtures.ts";

/** One type for each feature: orders start sagas and are delivered to a listener. */
export const openApiSpec: JsonObject = {
  agent_types: ["user"],
  singletons: ["stock"],
  aggregate_types: {
    ...typesOf({
      inventory: ["was_reserved", "was_released"],
      payment: ["was_requested", "was_captured", "was_refused"],
    }),
    order: {
      description: "What customers want",
      events: {
        was_placed: { schema: true, handler: [] },
        was_confirmed: { schema: true, handler: [] },
        was_noted: {
          schema: {
            $defs: { text: { type: "string", maxLength: 10 } },
            type: "object",
            properties: { text: { $ref: "#/$defs/text" } },
          },
          handler: { set: { target: "text", value: "$.data.text" } },
          geo: { type: "point", path: "$.data.at" },
        },
        was_promised: {
          schema: true,
          handler: [],
          implications: [{
            schedule: {
              delay: "60s",
              emit: { aggregate_type: "order", id: "$.id", event_type: "was_noted", data: {} },
            },
          }],
        },
        _was_tombstoned: {},
      },
    },
  },
  modules: {
    sagas: { fulfilment: FULFILMENT },
    listeners: {
      hook: {
        url: "https://hook.example.com/hook",
        secret: "0123456789abcdef",
        events: ["order.was_noted"],
      },
      idle: {
        url: "https://idle.example.com/hook",
        secret: "0123456789abcdef",
        events: ["*"],
        enabled: false,
      },
    },
  },
};
