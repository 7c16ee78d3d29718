/**
 * Example bodies for each operation that takes one, by the operation's id.
 *
 * With a deployed spec, writes show its own types instead.
 */

import type { JsonObject, JsonValue } from "../../domain/json.ts";

const METADATA: JsonObject = { actor: { type: "user", id: "global" } };
const CREDENTIALS: JsonObject = { email: "jane@example.com", password: "correct horse battery" };
const NOTED: JsonObject = { type: "was_noted", data: { text: "Rings twice" } };
const IMPORTED: JsonObject = {
  key: "order:global",
  ...NOTED,
  metadata: { ...METADATA, timestamp: 1_767_225_600 },
};

export const EXAMPLES: Readonly<Record<string, JsonValue>> = {
  writeEvent: { data: NOTED.data!, metadata: METADATA },
  writeEvents: { events: [NOTED], metadata: { ...METADATA, previous_length: 0 } },
  writeAtomically: {
    targets: [{ aggregate_type: "order", id: "global", events: [NOTED], previous_length: 0 }],
    metadata: METADATA,
  },
  deployProjection: {
    projection: {
      name: "orders",
      for_each: "order",
      sources: { order: "$key" },
      select: { text: "$.order.text" },
    },
    environment: "test",
  },
  queryProjections: { sql: "SELECT text FROM orders WHERE text = ?", params: ["Rings twice"] },
  manageReactions: { action: "pause", environment: "test" },
  replayDeliveries: { since: "2026-01-31T09:30:00Z" },
  makeAnchor: { environment: "test" },
  rotateSigningKey: { environment: "test" },
  requestErasure: { key: "order:global", reason: "The customer asked for it", grace_hours: 24 },
  logIn: CREDENTIALS,
  addUser: CREDENTIALS,
  createInstance: { slug: "shop", tier: "free" },
  changeTier: { tier: "pro" },
  deploySpec: {
    spec: {
      agent_types: ["user"],
      aggregate_types: {
        order: {
          events: {
            was_noted: {
              schema: true,
              handler: [{ set: { target: "text", value: "$.data.text" } }],
            },
          },
        },
      },
    },
    environment: "test",
    dry_run: true,
  },
  issueApiKey: { name: "shop front", scope: "write", environment: "test" },
  rotateApiKey: {},
  scheduleRevocation: { revoke_at: "2026-12-31T00:00:00Z" },
  setDebug: { wasm_trace: true },
  importEvents: { import_id: "orders-2025", events: [IMPORTED] },
  importLines: IMPORTED,
  coldStart: IMPORTED,
};
