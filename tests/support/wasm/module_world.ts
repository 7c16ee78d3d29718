/** A service whose test environment has modules and a spec that calls them. */

import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import type { Outcome } from "../../../src/domain/refusal.ts";
import type { DeployedSpec } from "../../../src/domain/spec/deployment.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { BlobVersion } from "../../../src/domain/wasm/blob.ts";
import type { WriteRequest, Written } from "../../../src/domain/write/write.ts";
import type { Service } from "../../../src/features/service.ts";
import {
  ACTOR,
  type FixtureOptions,
  type ServiceFixture,
  valueOf,
  withService,
} from "../service_fixture.ts";
import { assemble, dataAt, framed, moduleFile } from "./build_module.ts";
import { parsedState } from "../parsed_state.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Event types by name: a handler, or a whole definition without its schema. */
export type EventTypes = Readonly<Record<string, JsonValue>>;

export interface ModuleWorld extends ServiceFixture {
  readonly tenant: Tenant;
  upload(name: string, file: Bytes): Promise<Outcome<BlobVersion>>;
  deploy(spec: JsonObject): Promise<Outcome<DeployedSpec>>;
  /** Writes events of these types, with empty data, to one `show` aggregate. */
  write(id: string, types: readonly string[], change?: Partial<WriteRequest>): Promise<
    Outcome<Written>
  >;
  /** The state of a `show` aggregate, or the refusal to read it. */
  stateOf(id: string, synchronous?: boolean): Promise<unknown>;
}

/** A spec with the type `show`, whose events are given, and `audit`, which takes notes. */
export function showSpec(events: EventTypes): JsonObject {
  const definitions = Object.entries(events).map(([name, value]) => {
    const isWhole = typeof value === "object" && value !== null && "handler" in value;
    return [name, { schema: true, ...(isWhole ? value as JsonObject : { handler: value }) }];
  });
  return {
    agent_types: ["user"],
    singletons: ["a", "b", "c"],
    aggregate_types: {
      show: { events: Object.fromEntries(definitions) },
      audit: {
        events: {
          was_noted: {
            schema: true,
            handler: { append: { target: "notes", value: "$.data" } },
          },
        },
      },
    },
  };
}

/** Runs `body` with these blobs uploaded and a spec of these event types deployed. */
export async function withModules(
  blobs: Readonly<Record<string, Bytes>>,
  events: EventTypes,
  body: (world: ModuleWorld) => Promise<void>,
  options: FixtureOptions = {},
): Promise<void> {
  await withService(async (fixture) => {
    const world = moduleWorld(fixture.service, fixture);
    for (const [name, file] of Object.entries(blobs)) valueOf(await world.upload(name, file));
    valueOf(await world.deploy(showSpec(events)));
    await body(world);
  }, options);
}

/** The same helpers for another service over the store of `fixture`. */
export function moduleWorld(service: Service, fixture: ServiceFixture): ModuleWorld {
  const tenant = fixture.tenants.test;
  return {
    ...fixture,
    service,
    tenant,
    upload: (name, file) => service.specs.uploadBlob(tenant, name, file),
    deploy: (spec) => service.specs.deploySpec(tenant, { spec, force: true, dryRun: false }),
    write: (id, types, change = {}) =>
      service.data.writeEvents(tenant, showWrite(id, types, change)),
    async stateOf(id, synchronous = false) {
      const request = { aggregateType: "show", id, synchronous };
      const read = await service.data.readAggregate(tenant, request);
      return read.ok ? parsedState(read.value) : read.refusal;
    },
  };
}

export function showWrite(
  id: string,
  types: readonly string[],
  change: Partial<WriteRequest> = {},
): WriteRequest {
  const events = types.map((type) => ({ type, data: {} }));
  const form = types.length === 1 ? "single" : "batch";
  const targets = [{ aggregateType: "show", id, events }];
  return { form, targets, metadata: { actor: ACTOR }, requestId: "request-1", ...change };
}

/** A module whose entrypoint, by default the one for implications, returns this value. */
export function answering(value: JsonValue, entrypoint = "compute_implications"): Promise<Bytes> {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const pages = Math.ceil(bytes.length / 65_536);
  // The input goes behind the output in memory.
  return assemble(`(module
    (memory (export "memory") ${pages + 4})
    ${dataAt(0, bytes)}
    (func (export "malloc") (param i32) (result i32) (i32.const ${pages * 65_536}))
    (func (export "${entrypoint}") (param i32 i32) (result i64) (i64.const ${bytes.length})))`);
}

/** An `apply_handler` with this body, which does not answer. */
export function misbehaving(body: string): Promise<Bytes> {
  return framed(`(func (export "apply_handler") (param i32 i32) (result i64) ${body})`);
}

export const LOOPS = "(loop $for_ever (br $for_ever)) (i64.const 0)";
export const TRAPS = "unreachable";

export function seats(): Promise<Bytes> {
  return moduleFile("seats");
}

export function digest(): Promise<Bytes> {
  return moduleFile("digest");
}
