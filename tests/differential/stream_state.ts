/**
 * What a trace leaves behind: each stream's stored events, its chain tip and its folded state.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Access } from "../../src/features/access/access_service.ts";
import { isJsonObject } from "../../src/domain/json.ts";
import { streamKey } from "../../src/domain/identifier.ts";
import { ENVIRONMENTS, type Tenant } from "../../src/domain/tenant.ts";
import type { Engine } from "../../src/kv/engine.ts";
import type { Service } from "../../src/features/service.ts";
import { listAggregateIds } from "../../src/store/streams/aggregates.ts";
import { readHead } from "../../src/store/streams/streams.ts";
import { accepted, anyOperator } from "../support/access_fixtures.ts";

export interface StreamState {
  /** `<instance id>/<environment>/<type>:<id>`. */
  readonly name: string;
  readonly length: number;
  /** The tip that the store keeps. */
  readonly tip: string;
  /** The stored bytes of all events, in order, one line for each. */
  readonly raw: string;
  /** The state folded from the first event on, or why that is refused, as JSON. */
  readonly state: string;
}

const IDS_AT_A_TIME = 500;

/**
 * Also checks each stream's chain against its own events, because equal results may be equally
 * wrong.
 */
export async function* readStreams(
  engine: Engine,
  access: Access,
  service: Service,
): AsyncGenerator<StreamState> {
  for (const { id } of accepted(await access.listInstances(anyOperator)).data) {
    for (const environment of ENVIRONMENTS) {
      const tenant = accepted(await access.resolveTenant(anyOperator, id, environment));
      for (const type of await typesOf(service, tenant)) {
        for await (const aggregate of idsOf(engine, tenant, type)) {
          yield await readStream(engine, service, tenant, { type, id: aggregate });
        }
      }
    }
  }
}

async function typesOf(service: Service, tenant: Tenant): Promise<string[]> {
  const current = await service.specs.readSpec(tenant);
  if (!current.ok) return [];
  const types = current.value.spec.aggregate_types;
  return isJsonObject(types) ? Object.keys(types).sort() : [];
}

async function* idsOf(engine: Engine, tenant: Tenant, type: string): AsyncGenerator<string> {
  let start: string | undefined;
  for (;;) {
    const page = { start, limit: IDS_AT_A_TIME };
    const ids = await engine.snapshot((tx) => listAggregateIds(tx, tenant.number, type, page));
    yield* ids;
    if (ids.length < IDS_AT_A_TIME) return;
    start = ids.at(-1);
  }
}

interface StreamName {
  readonly type: string;
  readonly id: string;
}

async function readStream(
  engine: Engine,
  service: Service,
  tenant: Tenant,
  { type, id }: StreamName,
): Promise<StreamState> {
  const key = streamKey(type, id);
  const name = `${tenant.instanceId}/${tenant.environment}/${key}`;
  const raws = await readRaws(service, tenant, type, id);
  const head = await engine.snapshot((tx) => readHead(tx, tenant.number, key));
  assert.equal(head.length, raws.length, `${name}: the head counts all events`);
  assert.equal(head.tip, chainTip(raws), `${name}: the tip follows from the events`);
  const request = { aggregateType: type, id, synchronous: true };
  const state = await service.data.readAggregate(tenant, request);
  return {
    name,
    length: head.length,
    tip: head.tip ?? "",
    raw: raws.join("\n"),
    state: JSON.stringify(state),
  };
}

async function readRaws(
  service: Service,
  tenant: Tenant,
  aggregateType: string,
  id: string,
): Promise<string[]> {
  const raws: string[] = [];
  let start: string | undefined;
  do {
    const request = { aggregateType, id, start, count: 5_000, direction: "forwards" } as const;
    const page = accepted(await service.data.readEvents(tenant, request));
    raws.push(...page.entries.map(({ raw }) => raw));
    start = page.nextStart;
  } while (start !== undefined);
  return raws;
}

/** See docs/reference/audit.md. */
function chainTip(raws: readonly string[]): string {
  let tip = "";
  for (const raw of raws) tip = createHash("sha256").update(tip).update(raw).digest("hex");
  return tip;
}
