/**
 * Specs that an older version of the service accepted and this one refuses. They are put into
 * the store as the older version stored them.
 */

import { canonicalHash } from "../../src/domain/canonical_hash.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { readCurrentVersion, storeSpec } from "../../src/store/specs.ts";
import { copyOfExampleSpec } from "./example_spec.ts";

/** By the limit that each exceeds: a schema, and what the refusal says about it. */
export const OLDER_SCHEMAS: Readonly<Record<string, readonly [JsonObject, RegExp]>> = {
  "too many branches": [
    { anyOf: Array.from({ length: 251 }, (_, index) => ({ required: [`key${index}`] })) },
    /anyOf holds 251 schemas; at most 250 are allowed/,
  ],
  "a pattern that is too large": [
    { properties: { code: { type: "string", pattern: "^(?:[a-z][0-9]){1,999}$" } } },
    /is too large once its repeats are unrolled/,
  ],
  "too many values of enum": [
    { properties: { code: { enum: Array.from({ length: 10_001 }, (_, index) => index) } } },
    /enum has more than 10000 values/,
  ],
  "a constant that is too large": [
    { const: { list: Array.from({ length: 5_001 }, (_, index) => [index]) } },
    /const has more than 10000 values/,
  ],
  "an $id that is too long": [
    { $id: `https://example.org/${"a".repeat(2_000)}` },
    /an \$id has at most 2000 characters/,
  ],
};

/** The example spec with one more event type, `order.was_boxed`. */
export function olderSpec(schema: JsonObject): JsonObject {
  const spec = copyOfExampleSpec();
  const { order } = spec.aggregate_types as Record<string, { events: JsonObject }>;
  order!.events.was_boxed = { schema, handler: [] };
  return spec;
}

/** Makes it the current spec without checks. */
export async function storeOlderSpec(
  engine: Engine,
  tenant: number,
  spec: JsonObject,
): Promise<void> {
  await engine.transact(async (tx) => {
    const version = (await readCurrentVersion(tx, tenant) ?? 0) + 1;
    const created_at = "2026-01-01T00:00:00.000Z";
    const stored = { version, spec_hash: canonicalHash(spec), created_at };
    storeSpec(tx, tenant, stored, JSON.stringify(spec));
  });
}
