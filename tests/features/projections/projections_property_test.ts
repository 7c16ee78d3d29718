/**
 * After any history of events every row of a projection equals the one computed from scratch.
 * This holds whatever was deployed, redeployed, deleted, erased or interrupted meanwhile.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { openTransactionPieces } from "../../../src/domain/fairness/transaction_pieces.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import { createAccess } from "../../../src/features/access/access_service.ts";
import { createService, type Service } from "../../../src/features/service.ts";
import { systemHost } from "../../../src/host.ts";
import { type StreamKey, streamKey } from "../../../src/domain/identifier.ts";
import { listReadyProjections } from "../../../src/store/projections/ready_projections.ts";
import { listRowsOfSource } from "../../../src/store/projections/projection_rows.ts";
import { readTombstone } from "../../../src/store/tombstones.ts";
import { drainErasures, erasureOf } from "../../support/erasure_fixtures.ts";
import { type ServiceFixture, uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { settleProjections } from "../../support/settle_projections.ts";
import { type OracleStream, projectionFromScratch } from "../../support/projection_oracle.ts";
import { ERASED, type ShopEvent, shopFold, shopSpec } from "../../support/projection_shop.ts";
import { readParsedRows } from "../../support/parsed_rows.ts";

const RUNS = Number(Deno.env.get("VIEW_RUNS") ?? 60);
const ORDERS = [uuid(1), uuid(2), `${uuid(2)}:gift`, "7ZK0X9M4P", "main"];
const CUSTOMERS = [uuid(11), uuid(12), uuid(13), "global"];
const PRODUCTS = [uuid(21), uuid(22), uuid(23)];

/** All streams that may be erased. */
const STREAMS = Object.entries({
  order: ORDERS,
  customer: CUSTOMERS,
  product: PRODUCTS,
  settings: ["main"],
}).flatMap(([type, ids]) => ids.map((id) => streamKey(type, id)));

const SELECT: JsonObject = {
  name: "$.customer.name",
  tier: "$.customer.tier",
  customer: "$.customer",
  referrer: { path: "$.referrer.name", type: "string" },
  currency: "$.config.currency",
  lines: { $count: "$.order.lines" },
  total: { $sum: "$.order.lines[*].qty" },
  products: {
    $map: "$.products",
    as: "$each",
    to: { called: "$each.name", of: "$.order.customer" },
  },
  described: {
    $map: "$.order.lines",
    as: "line",
    to: {
      qty: "$line.qty",
      name: { $lookup: "$.products", where: { sku: "$line.sku" }, select: "$item.name" },
    },
  },
  named: {
    $map: "$.order.lines",
    to: {
      $lookup: "$.products",
      where: { sku: "$item.sku" },
      select: { name: "$.name", all: "$" },
    },
  },
  shape: { who: { name: "$.customer.name", lines: { $count: "$.order.lines" } }, of: "$.key" },
  first: { $lookup: "$.products", where: { sku: "sku-1" } },
  qty: { path: "$.first_line.qty", type: "integer" },
  own: "$.key",
};

const definition = fc.record({
  columns: fc.subarray(Object.keys(SELECT).filter((name) => name !== "qty"), { minLength: 1 }),
  substreams: fc.boolean(),
  include: fc.boolean(),
}).map(({ columns, substreams, include }): JsonObject => ({
  name: "orders_seen",
  for_each: "order",
  include_substreams: substreams,
  sources: {
    referrer: { type: "customer", id: "$.customer.referrer" },
    order: "$key",
    customer: { type: "customer", id: "$.order.customer" },
    products: { type: "product", id: "$.order.lines[*].product", mode: "array" },
  },
  ...(include ? { include: { config: "settings:main" } } : {}),
  select: Object.fromEntries(
    columns.filter((name) => include || name !== "currency").map((name) => [name, SELECT[name]!])
      .concat([["of", "$.order.customer"]]),
  ),
}));

const customer = fc.constantFrom<string | number | null>(...CUSTOMERS, "no id", 7, null, uuid(19));
const line = fc.record({
  product: fc.constantFrom(...PRODUCTS, "nothing"),
  sku: fc.constantFrom("sku-1", "sku-2"),
  qty: fc.constantFrom<number | string>(1, 2.5, "many"),
});
const name = fc.constantFrom("Ada", "Bob", "=1+1", 'a "quote", and more');

type Step =
  | {
    readonly kind: "write";
    readonly type: string;
    readonly id: string;
    readonly event: ShopEvent;
  }
  | { readonly kind: "deploy"; readonly definition: JsonObject }
  | { readonly kind: "spec"; readonly second: boolean }
  | { readonly kind: "request_erasure"; readonly stream: StreamKey }
  | { readonly kind: "erase"; readonly steps: number }
  | { readonly kind: "delete" | "keep" | "build" | "crash" | "settle" };

function writes(type: string, ids: readonly string[], event: fc.Arbitrary<ShopEvent>) {
  return fc.record({
    kind: fc.constant("write"),
    type: fc.constant(type),
    id: fc.constantFrom(...ids),
    event,
  });
}

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: writes(
      "order",
      ORDERS,
      fc.oneof(
        fc.record({ customer, lines: fc.array(line, { maxLength: 3 }) })
          .map((data) => ({ type: "was_placed", data })),
        line.map((each) => ({ type: "had_line_added", data: { line: each } })),
        customer.map((to) => ({ type: "was_reassigned", data: { customer: to } })),
      ),
    ),
  },
  {
    weight: 4,
    arbitrary: writes(
      "customer",
      CUSTOMERS,
      fc.oneof(
        fc.record({ name, referrer: customer }).map((data) => ({ type: "was_registered", data })),
        name.map((each) => ({ type: "was_renamed", data: { name: each } })),
      ),
    ),
  },
  {
    weight: 2,
    arbitrary: writes(
      "product",
      PRODUCTS,
      fc.record({ name, sku: fc.constantFrom("sku-1", "sku-2") })
        .map((data) => ({ type: "was_named", data })),
    ),
  },
  {
    weight: 1,
    arbitrary: writes(
      "settings",
      ["main"],
      fc.constantFrom("EUR", "USD")
        .map((currency) => ({ type: "was_set", data: { currency } })),
    ),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("deploy"), definition }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("spec"), second: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("request_erasure"),
      stream: fc.constantFrom(...STREAMS),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("erase"), steps: fc.integer({ min: 1, max: 12 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom("keep", "keep", "build", "build", "crash", "settle", "delete")
      .map((kind) => ({ kind })),
  },
) as fc.Arbitrary<Step>;

/** What a run has done so far, besides what the product knows. */
interface Known {
  readonly streams: Map<string, OracleStream>;
  /** Requests to erase streams that are not rewritten yet, by stream. */
  readonly erasures: Map<StreamKey, string>;
  definition: JsonObject | undefined;
  second: boolean;
}

Deno.test("after any history every view is the one computed from scratch", async () => {
  const history = fc.array(step, { minLength: 5, maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(definition, history, async (first, steps) => {
      await withService(async (fixture) => {
        const known: Known = {
          streams: new Map(),
          erasures: new Map(),
          definition: undefined,
          second: false,
        };
        const all: Step[] = [{ kind: "deploy", definition: first }, ...steps, { kind: "settle" }];
        let service = fixture.service;
        for (const each of all) service = await take(fixture, service, known, each);
        if (service !== fixture.service) await service.close();
      }, { spec: shopSpec() });
    }),
    { numRuns: RUNS },
  );
});

async function take(
  fixture: ServiceFixture,
  service: Service,
  known: Known,
  step: Step,
): Promise<Service> {
  const { tenants: { test: tenant }, host } = fixture;
  const { projections, specs } = service;
  switch (step.kind) {
    case "write":
      await writeOne(fixture, service, known, step);
      break;
    case "deploy":
      valueOf(await projections.deploy(tenant, step.definition));
      known.definition = step.definition;
      break;
    case "spec": {
      const spec = shopSpec(step.second);
      valueOf(await specs.deploySpec(tenant, { spec, force: false, dryRun: false }));
      known.second = step.second;
      break;
    }
    case "delete":
      if (known.definition !== undefined) valueOf(await projections.remove(tenant, "orders_seen"));
      known.definition = undefined;
      break;
    case "keep":
      await projections.keepProjections(2);
      break;
    case "build":
      await projections.buildProjections();
      break;
    case "crash": {
      // Everything in memory is lost; work that had begun is in the store or is not.
      if (service !== fixture.service) await service.close();
      const access = createAccess(fixture.engine, host, { jwtSecret: new Uint8Array(32).fill(7) });
      const next = createService(fixture.engine, host, access);
      await access.close();
      return next;
    }
    case "request_erasure":
      await requestErasure(fixture, service, known, step.stream);
      break;
    case "erase": {
      let left = step.steps;
      await service.erasure.eraseDue(100, () => left-- === 0);
      await noteRewritten(fixture, known);
      break;
    }
    case "settle":
      await settleProjections(service);
      await drainErasures(service);
      await noteRewritten(fixture, known);
      assert.equal(known.erasures.size, 0);
      await settleProjections(service);
      await compare(fixture, service, known);
  }
  return service;
}

async function writeOne(
  { tenants: { test }, host }: ServiceFixture,
  { data }: Service,
  { streams }: Known,
  { type, id, event }: Extract<Step, { kind: "write" }>,
): Promise<void> {
  host.timeMs += 700;
  const metadata = { actor: { type: "user", id: "global" } };
  const targets = [{ aggregateType: type, id, events: [event] }];
  valueOf(await data.writeEvents(test, { form: "single", targets, metadata, requestId: "r" }));
  const events = [...streams.get(`${type}:${id}`)?.events ?? [], event];
  streams.set(`${type}:${id}`, { events, updatedAt: Math.floor(host.timeMs / 1000) });
}

async function requestErasure(
  { tenants: { test } }: ServiceFixture,
  { erasure }: Service,
  { streams, erasures }: Known,
  stream: StreamKey,
): Promise<void> {
  if (!streams.has(stream) || erasures.has(stream)) return;
  const request = await erasure.request(test, erasureOf(stream));
  // A stream that is rewritten but not finished accepts no second request.
  if (request.ok) erasures.set(stream, request.value.id);
  else assert.equal(request.refusal.kind, "already_exists");
}

/** A rewritten stream has as many markers as it had events. */
async function noteRewritten(
  { engine, tenants: { test } }: ServiceFixture,
  { erasures, streams }: Known,
): Promise<void> {
  for (const [stream, id] of erasures) {
    const tombstone = await engine.snapshot((tx) => readTombstone(tx, test.number, id));
    if (tombstone?.result === undefined) continue;
    const { events, updatedAt } = streams.get(stream)!;
    assert.equal(tombstone.result.event_count, events.length);
    streams.set(stream, { events: events.map(() => ({ type: ERASED, data: {} })), updatedAt });
    erasures.delete(stream);
  }
}

async function compare(
  { engine, tenants: { test: tenant } }: ServiceFixture,
  service: Service,
  { definition, streams, second }: Known,
): Promise<void> {
  const pieces = openTransactionPieces(systemHost(), tenant.number);
  const projections = await engine.snapshot((tx) =>
    listReadyProjections(engine, tx, tenant.number, { pieces })
  );
  if (definition === undefined) return assert.deepEqual(projections, []);
  const wanted = projectionFromScratch(definition, streams, shopFold(second));
  const [kept] = projections;
  assert.ok(kept !== undefined, "it is read");
  const rows = await engine.snapshot((tx) =>
    readParsedRows(tx, kept, { limit: 1_000, bytesMax: 1e9 })
  );
  const shown = rows.map(({ key, data, position, updatedAt, error }) => {
    assert.equal(error, undefined);
    return JSON.stringify({ key, data, position, updatedAt });
  });
  assert.deepEqual(shown, wanted.map((row) => JSON.stringify(row)));
  for (const { key, data, position } of wanted) {
    const request = { name: "orders_seen", key, synchronous: true };
    const now = valueOf(await service.projections.readRow(tenant, request));
    assert.equal(now.dataJson, JSON.stringify(data), "computed now");
    assert.equal(now.metadata.position, position);
  }
  for (const stream of CUSTOMERS.map((id) => streamKey("customer", id))) {
    const listed: string[] = await engine.snapshot((tx) =>
      listRowsOfSource(tx, kept, stream, { limit: 1_000 })
    );
    const showing = rows.filter(({ sources }) => sources.some(([name]) => name === stream));
    assert.deepEqual(listed, showing.map(({ key }) => key), "the index has what the rows show");
  }
}
