/** A service that answers SQL over projections of orders, and helpers to query it. */

import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import type { SqlArguments } from "../../src/domain/projection/check_query.ts";
import type { Outcome } from "../../src/domain/refusal.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import {
  createSql,
  type QueryReply,
} from "../../src/features/projections/sql/query_projections.ts";
import { newCounters } from "../../src/domain/measures/counters.ts";
import type { Service } from "../../src/features/service.ts";
import {
  type FixtureOptions,
  OPERATOR,
  orderWrite,
  refusalOf,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "./service_fixture.ts";
import { settleProjections } from "./settle_projections.ts";

const anything = { schema: true };

/** An order's state is the data of its last event. */
export const ORDER_SPEC: JsonObject = {
  aggregate_types: {
    order: {
      events: {
        was_set: { ...anything, handler: { set: { target: "", value: "$.data" } } },
      },
    },
  },
  agent_types: ["user"],
  singletons: ["main"],
};

/** A projection with one column of each type. */
export const ORDERS: JsonObject = {
  name: "orders",
  for_each: "order",
  sources: { order: "$key" },
  select: {
    status: { path: "$.order.status", type: "string" },
    total: { path: "$.order.total", type: "number" },
    lines: { path: "$.order.lines", type: "integer" },
    paid: { path: "$.order.paid", type: "boolean" },
    placed_at: { path: "$.order.placed_at", type: "timestamp" },
    tags: { path: "$.order.tags", type: "json" },
    note: "$.order.note",
  },
};

export interface QueryFixture extends ServiceFixture {
  readonly tenant: Tenant;
  /** The folder that holds the SQL copies. */
  readonly folder: string;
  /** Ends the processes, runs `meanwhile`, and answers queries with new processes. */
  restart(meanwhile: () => void): Promise<void>;
  /**
   * Writes the states of orders, each by its number, and waits until the projections show them.
   */
  place(orders: readonly (readonly [number: number, state: JsonObject])[]): Promise<void>;
  query(sql: string, params?: SqlArguments): Promise<Outcome<QueryReply>>;
  rows(sql: string, params?: SqlArguments): Promise<JsonObject[]>;
}

/** Runs `body` with a service in which the projection `orders` is deployed and empty. */
export async function withQueries(
  body: (fixture: QueryFixture) => Promise<void>,
  options: FixtureOptions & { readonly runners?: number; readonly timeoutMs?: number } = {},
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook-views-" });
  const { runners = 2, timeoutMs } = options;
  const sql = { runners, timeoutMs, folder: `${folder}/views` };
  try {
    await withService(async (fixture) => {
      const { engine, host, tenants: { production: tenant } } = fixture;
      const service = { ...fixture.service };
      await deployProjection(service, tenant, ORDERS);
      await body({
        ...fixture,
        service,
        tenant,
        folder: sql.folder,
        async restart(meanwhile) {
          await service.sql.close();
          meanwhile();
          service.sql = createSql({ engine, host, counters: newCounters() }, sql);
        },
        place: (orders) => placeOrders(service, tenant, orders),
        query: (text, params = []) => service.sql.query(tenant, { sql: text, params }),
        rows: (text, params) => queryRows(service, tenant, text, params),
      });
      await service.sql.close();
    }, { spec: ORDER_SPEC, ...options, sql });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

export async function deployProjection(
  service: Service,
  tenant: Tenant,
  document: JsonObject,
): Promise<void> {
  valueOf(await service.projections.deploy(tenant, document));
  await settleProjections(service);
}

export async function placeOrders(
  service: Service,
  tenant: Tenant,
  orders: readonly (readonly [number: number, state: JsonObject])[],
): Promise<void> {
  const writes = orders.map(([number, data]) =>
    service.data.writeEvents(tenant, orderWrite(uuid(number), [{ type: "was_set", data }]))
  );
  for (const outcome of await Promise.all(writes)) valueOf(outcome);
  await settleProjections(service);
}

/** The production environment of another instance, with the same projection. */
export async function addInstance(
  { access, service }: Pick<ServiceFixture, "access" | "service">,
  name: string,
): Promise<Tenant> {
  const instance = valueOf(await access.createInstance(name, "unlimited"));
  const tenant = valueOf(await access.resolveTenant(OPERATOR, instance.id, "production"));
  const deploy = { spec: ORDER_SPEC, force: false, dryRun: false };
  valueOf(await service.specs.deploySpec(tenant, deploy));
  await deployProjection(service, tenant, ORDERS);
  return tenant;
}

/** Returns the whole reply to a query; a refusal fails the test. */
export async function queryReply(
  service: Service,
  tenant: Tenant,
  sql: string,
  params: SqlArguments = [],
): Promise<JsonObject> {
  return parseReply(valueOf(await service.sql.query(tenant, { sql, params })));
}

export async function queryRows(
  service: Service,
  tenant: Tenant,
  sql: string,
  params: SqlArguments = [],
): Promise<JsonObject[]> {
  return (await queryReply(service, tenant, sql, params)).rows as JsonObject[];
}

export function parseReply({ fields }: QueryReply): JsonObject {
  return JSON.parse(`{${new TextDecoder().decode(fields)}}`);
}

/** Kind and text of a refusal, as one line. */
export function refusalText(outcome: Outcome<unknown>): string {
  const refusal = refusalOf(outcome);
  const message: JsonValue = "message" in refusal ? refusal.message : "";
  return `${refusal.kind}: ${message}`;
}
