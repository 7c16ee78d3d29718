/** Fixtures for erasure tests: requests, a worker that runs to completion, reads of raw keys. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { ErasureRequest } from "../../src/features/erasure/tombstones.ts";
import type { TombstoneView } from "../../src/domain/erasure/tombstone.ts";
import type { EventPage } from "../../src/domain/reading.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import { keys } from "../../src/store/keys.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { isOutage } from "../../src/domain/outage.ts";
import type { Service } from "../../src/features/service.ts";
import { type ServiceFixture, valueOf } from "./service_fixture.ts";

/** More drains than any erasure in a test takes. */
const DRAINS_MAX = 2_000;

export function erasureOf(key: string, change: Partial<ErasureRequest> = {}): ErasureRequest {
  return {
    key,
    reason: "asked for by the customer",
    grace_hours: 0,
    requestedBy: "dpo",
    ...change,
  };
}

/** Erases the stream at once and returns its completed tombstone. */
export async function erase(
  { service, tenants: { test } }: Pick<ServiceFixture, "service" | "tenants">,
  key: string,
): Promise<TombstoneView> {
  const { id } = valueOf(await service.erasure.request(test, erasureOf(key)));
  await drainErasures(service);
  const erased = valueOf(await service.erasure.read(test, id));
  assert.equal(erased.state, "completed");
  return erased;
}

/** Erases until nothing is due; retries after outages, as the worker does. */
export async function drainErasures(service: Service): Promise<void> {
  for (let drains = 0; drains < DRAINS_MAX; drains++) {
    const steps = await service.erasure.eraseDue(100).catch((error: unknown) => {
      if (!isOutage(error)) throw error;
      return 1;
    });
    if (steps === 0) return;
  }
  throw new Error("there is no end to it");
}

/** All events of one stream, as the listing returns them. */
export async function eventsOf(
  service: Service,
  tenant: Tenant,
  id: string,
  aggregateType = "order",
): Promise<EventPage["entries"]> {
  const entries: EventPage["entries"][number][] = [];
  let start: string | undefined;
  do {
    const request = { aggregateType, id, direction: "forwards", start, count: 5_000 } as const;
    const page = valueOf(await service.data.readEvents(tenant, request));
    entries.push(...page.entries);
    start = page.nextStart;
  } while (start !== undefined);
  return entries;
}

/** Keys, in hex, of all pairs in the store whose key or value contains the text. */
export async function keysWith(engine: Engine, text: string): Promise<string[]> {
  const wanted = new TextEncoder().encode(text);
  const everything = { begin: new Uint8Array(), end: Uint8Array.of(0xfe) };
  const found: string[] = [];
  let begin = everything.begin;
  for (;;) {
    const pairs = await engine.snapshot((tx) =>
      tx.getRange({ begin, end: everything.end }, { bytesMax: 1024 * 1024 })
    );
    for (const { key, value } of pairs) {
      if (holds(value, wanted) || holds(key, wanted)) found.push(key.toHex());
    }
    const last = pairs.at(-1);
    if (last === undefined) return found;
    begin = Uint8Array.from([...last.key, 0]);
  }
}

function holds(bytes: Uint8Array, wanted: Uint8Array): boolean {
  return Buffer.from(bytes).indexOf(wanted) >= 0;
}

/** Counts the segments that a stream has in a generation. */
export async function segmentsOf(
  engine: Engine,
  tenant: number,
  key: string,
  generation: number,
): Promise<number> {
  const range = keys.segments(tenant, key, generation);
  return (await engine.snapshot((tx) => tx.getRange(range))).length;
}
