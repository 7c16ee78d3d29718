/** A whole service on an empty engine: one instance, the example spec in every environment. */

import assert from "node:assert/strict";
import { type Access, createAccess } from "../../src/features/access/access_service.ts";
import type { Operator } from "../../src/domain/access/access.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { Outcome, Refusal } from "../../src/domain/refusal.ts";
import { type Environment, ENVIRONMENTS, type Tenant } from "../../src/domain/tenant.ts";
import type { WriteRequest, Written } from "../../src/domain/write/write.ts";
import type { Engine } from "../../src/kv/engine.ts";
import type { WebhookSettings } from "../../src/domain/listener/webhook.ts";
import type { SqlSettings } from "../../src/features/projections/sql/query_projections.ts";
import { createService, type Service } from "../../src/features/service.ts";
import { exampleSpec } from "./example_spec.ts";
import type { Host } from "../../src/host.ts";
import { type FakeHost, fakeHost } from "./fake_host.ts";
import { temporaryEngine } from "./temporary_engine.ts";

export interface ServiceFixture {
  readonly service: Service;
  readonly access: Access;
  readonly engine: Engine;
  readonly host: FakeHost;
  readonly tenants: Readonly<Record<Environment, Tenant>>;
}

export const OPERATOR: Operator = { subject: "test" };
const SECRET = new Uint8Array(32).fill(7);

export interface FixtureOptions {
  readonly spec?: JsonObject;
  /** Wraps the engine, for example with faults. */
  readonly wrap?: (engine: Engine) => Engine;
  /** If false, all implied events go through the outbox. */
  readonly isDirect?: boolean;
  /** Real parts of the host, for tests that measure time. */
  readonly realHost?: Partial<Host>;
  /** Default: nothing is delivered to listeners. */
  readonly webhooks?: WebhookSettings;
  /** Default: SQL queries are not answered. */
  readonly sql?: SqlSettings;
}

/** Runs `body` with a fresh service; closes and removes everything afterwards. */
export async function withService(
  body: (fixture: ServiceFixture) => Promise<void>,
  options: FixtureOptions = {},
): Promise<void> {
  const { engine: inner, dispose } = await temporaryEngine();
  const engine = options.wrap?.(inner) ?? inner;
  const host = Object.assign(fakeHost(), options.realHost);
  const access = createAccess(inner, host, { jwtSecret: SECRET });
  const { isDirect, webhooks, sql } = options;
  const service = createService(engine, host, access, { isDirect, webhooks, sql });
  try {
    const instance = valueOf(await access.createInstance("shop", "unlimited"));
    const tenants = {} as Record<Environment, Tenant>;
    for (const environment of ENVIRONMENTS) {
      const tenant = valueOf(await access.resolveTenant(OPERATOR, instance.id, environment));
      tenants[environment] = tenant;
      const spec = options.spec ?? exampleSpec;
      valueOf(await service.specs.deploySpec(tenant, { spec, force: false, dryRun: false }));
    }
    await body({ service, access, engine, host, tenants });
  } finally {
    await service.close();
    await access.close();
    await dispose();
  }
}

/** Returns the value of an outcome; a refusal fails the test. */
export function valueOf<T>(outcome: Outcome<T>): T {
  assert.ok(outcome.ok, `refused: ${JSON.stringify(outcome)}`);
  return outcome.value;
}

/** Returns the refusal of an outcome; an accepted one fails the test. */
export function refusalOf(outcome: Outcome<unknown>): Refusal {
  assert.ok(!outcome.ok, "accepted");
  return outcome.refusal;
}

/** A v4 UUID with `number` at its end. */
export function uuid(number: number): string {
  return `5b3e1a7c-9d24-4f6a-8b1e-${number.toString(16).padStart(12, "0")}`;
}

export const ACTOR = { type: "user", id: "global" };

/** A single write of `was_noted` to an order: the smallest write that the example spec has. */
export function noteWrite(id: string, text: string, change: Partial<WriteRequest> = {}) {
  return orderWrite(id, [{ type: "was_noted", data: { text } }], change);
}

/** A write of `events` to one order: single for one event, a batch for more. */
export function orderWrite(
  id: string,
  events: WriteRequest["targets"][number]["events"],
  change: Partial<WriteRequest> = {},
): WriteRequest {
  const form = events.length === 1 ? "single" : "batch";
  const targets = [{ aggregateType: "order", id, events }];
  return { form, targets, metadata: { actor: ACTOR }, requestId: "request-1", ...change };
}

/** The index of the first event that a write placed, for each target. */
export function firstIndexes(written: Written): number[] {
  return written.targets.map(({ first }) => first);
}
