/** A shop with projections for tests: writes that are remembered, and a check of the rows. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/json.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import type { Engine } from "../../src/kv/engine.ts";
import type { Service } from "../../src/features/service.ts";
import { readReadyProjection } from "../../src/store/projections/projections.ts";
import { valueOf } from "./service_fixture.ts";
import { type OracleStream, projectionFromScratch } from "./projection_oracle.ts";
import { type ShopEvent, shopFold } from "./projection_shop.ts";
import { type ParsedRow, readParsedRows } from "./parsed_rows.ts";

/** Orders with their customers, and the customers who referred them. */
export const ORDERS_SEEN: JsonObject = {
  name: "orders_seen",
  for_each: "order",
  sources: {
    order: "$key",
    customer: { type: "customer", id: "$.order.customer" },
    referrer: { type: "customer", id: "$.customer.referrer" },
  },
  include: { config: "settings:main" },
  select: {
    customer: "$.order.customer",
    name: "$.customer.name",
    tier: "$.customer.tier",
    referrer: "$.referrer.name",
    currency: "$.config.currency",
  },
};

export type ShopStreams = Map<string, OracleStream>;

export interface ShopWrite {
  readonly streams: ShopStreams;
  readonly stream: readonly [type: string, id: string];
  readonly event: ShopEvent;
  readonly nowMs: number;
}

/** Writes one event and remembers it. `nowMs` must be the time of the service's clock. */
export async function writeShop(
  { data }: Service,
  tenant: Tenant,
  { streams, stream: [type, id], event, nowMs }: ShopWrite,
): Promise<void> {
  const metadata = { actor: { type: "user", id: "global" } };
  const targets = [{ aggregateType: type, id, events: [event] }];
  valueOf(await data.writeEvents(tenant, { form: "single", targets, metadata, requestId: "r" }));
  const events = [...streams.get(`${type}:${id}`)?.events ?? [], event];
  streams.set(`${type}:${id}`, { events, updatedAt: Math.floor(nowMs / 1000) });
}

/** Returns the rows as stored; fails if the projection cannot be read. */
export async function storedRows(
  engine: Engine,
  { number }: Tenant,
  name = "orders_seen",
): Promise<ParsedRow[]> {
  return await engine.snapshot(async (tx) => {
    const projection = await readReadyProjection(tx, number, name);
    assert.ok(projection !== undefined, `${name} can be read`);
    return await readParsedRows(tx, projection, { limit: 10_000, bytesMax: 1e9 });
  });
}

/** Fails unless the stored rows equal those computed from scratch. */
export async function holdRows(
  engine: Engine,
  tenant: Tenant,
  streams: ShopStreams,
  { definition = ORDERS_SEEN, second = false } = {},
): Promise<void> {
  const rows = await storedRows(engine, tenant, String(definition.name));
  const shown = rows.map(({ key, data, position, updatedAt }) =>
    JSON.stringify({ key, data, position, updatedAt })
  );
  const wanted = projectionFromScratch(definition, streams, shopFold(second));
  assert.deepEqual(shown, wanted.map((row) => JSON.stringify(row)));
}
