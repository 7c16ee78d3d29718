/**
 * The life cycle of an idempotency key, every case, through the service. See
 * docs/reference/writing.md.
 */

import assert from "node:assert/strict";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { WriteRequest } from "../../../src/domain/write/write.ts";
import type { Service } from "../../../src/features/service.ts";
import {
  ACTOR,
  firstIndexes,
  noteWrite,
  refusalOf,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";

const DAY_MS = 24 * 3600 * 1000;
const idempotency = { key: "k-1", bodyHash: "aa".repeat(32) };

function keyed(change: Partial<WriteRequest> = {}): WriteRequest {
  return noteWrite(uuid(1), "a", { idempotency, ...change });
}

async function length(service: Service, tenant: Tenant): Promise<number> {
  return valueOf(await service.data.readLength(tenant, "order", uuid(1)));
}

Deno.test("a keyed write stamps its key into the stored metadata", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, keyed()));
    const request = { aggregateType: "order", id: uuid(1), direction: "forwards" as const };
    const { entries } = valueOf(await service.data.readEvents(test, request));
    assert.equal(JSON.parse(entries[0]!.raw).metadata.idempotency_key, "k-1");
  });
});

Deno.test("same key, same body: the first answer again with its request id, and no event", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const first = valueOf(await service.data.writeEvents(test, keyed({ requestId: "first" })));
    const again = valueOf(await service.data.writeEvents(test, keyed({ requestId: "second" })));
    assert.deepEqual(again, { ...first, replayed: true, requestId: "first" });
    assert.equal(await length(service, test), 1);
  });
});

Deno.test("same key, other body: refused, and no event", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, keyed()));
    const other = keyed({ idempotency: { ...idempotency, bodyHash: "bb".repeat(32) } });
    const refusal = refusalOf(await service.data.writeEvents(test, other));
    assert.deepEqual(refusal, { kind: "idempotency_mismatch" });
    assert.equal(await length(service, test), 1);
  });
});

Deno.test("the original still running: refused, and one event in the end", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, () => service.data.writeEvents(test, keyed())),
    );
    assert.equal(outcomes.filter(({ ok }) => ok).length, 1);
    for (const outcome of outcomes) {
      if (!outcome.ok) assert.deepEqual(outcome.refusal, { kind: "idempotency_in_progress" });
    }
    assert.equal(await length(service, test), 1);
    assert.equal(valueOf(await service.data.writeEvents(test, keyed())).replayed, true);
  });
});

Deno.test("the same key in another environment at the same time: both are written", async () => {
  await withService(async ({ service, tenants: { test, staging } }) => {
    const tenants = [test, staging];
    const outcomes = await Promise.all(
      tenants.map((tenant) => service.data.writeEvents(tenant, keyed())),
    );
    for (const outcome of outcomes) assert.equal(valueOf(outcome).replayed, false);
    for (const tenant of tenants) assert.equal(await length(service, tenant), 1);
  });
});

Deno.test("a write that failed leaves its key free", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const guardedWrongly = keyed({ metadata: { actor: ACTOR, previous_length: 4 } });
    assert.equal(
      refusalOf(await service.data.writeEvents(test, guardedWrongly)).kind,
      "occ_conflict",
    );
    const invalid = keyed({ metadata: { actor: ACTOR, foo: 1 } });
    assert.equal(refusalOf(await service.data.writeEvents(test, invalid)).kind, "metadata_invalid");
    assert.equal(valueOf(await service.data.writeEvents(test, keyed())).replayed, false);
  });
});

Deno.test("the ledger answers before OCC: the guard of a recognized key is not compared", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const metadata = { actor: ACTOR, previous_length: 0 };
    valueOf(await service.data.writeEvents(test, keyed({ metadata })));
    const again = valueOf(await service.data.writeEvents(test, keyed({ metadata })));
    assert.deepEqual([again.replayed, firstIndexes(again)], [true, [0]]);
  });
});

Deno.test("the ledger answers even where the spec would now refuse the body", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const first = valueOf(await service.data.writeEvents(test, keyed()));
    const spec = { aggregate_types: {}, agent_types: ["robot"] };
    valueOf(await service.specs.deploySpec(test, { spec, force: true, dryRun: false }));
    const again = valueOf(await service.data.writeEvents(test, keyed()));
    assert.deepEqual(again, { ...first, replayed: true });
    const other = keyed({ idempotency: { ...idempotency, bodyHash: "bb".repeat(32) } });
    const refusal = refusalOf(await service.data.writeEvents(test, other));
    assert.deepEqual(refusal, { kind: "idempotency_mismatch" });
  });
});

Deno.test("a key belongs to the environment, not to the stream", async () => {
  await withService(async ({ service, tenants: { test, staging } }) => {
    const first = valueOf(await service.data.writeEvents(test, keyed()));
    const elsewhere = noteWrite(uuid(2), "a", { idempotency });
    assert.deepEqual(valueOf(await service.data.writeEvents(test, elsewhere)), {
      ...first,
      replayed: true,
    });
    assert.equal(valueOf(await service.data.writeEvents(staging, keyed())).replayed, false);
  });
});

Deno.test("a key is free again 24 hours after its last use, and each replay counts as use", async () => {
  await withService(async ({ service, host, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, keyed()));
    host.timeMs += DAY_MS - 1000;
    assert.equal(valueOf(await service.data.writeEvents(test, keyed())).replayed, true);
    host.timeMs += DAY_MS - 1000;
    assert.equal(valueOf(await service.data.writeEvents(test, keyed())).replayed, true);
    host.timeMs += DAY_MS;
    const anew = valueOf(await service.data.writeEvents(test, keyed()));
    assert.deepEqual([anew.replayed, firstIndexes(anew)], [false, [1]]);
  });
});

Deno.test("a replay of an atomic write names every stream again", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const request: WriteRequest = {
      form: "atomic",
      targets: [1, 2].map((n) => ({
        aggregateType: "order",
        id: uuid(n),
        events: [{ type: "was_viewed", data: {} }, { type: "was_viewed", data: {} }],
      })),
      metadata: { actor: ACTOR },
      requestId: "r",
      idempotency,
    };
    const first = valueOf(await service.data.writeEvents(test, request));
    const again = valueOf(await service.data.writeEvents(test, request));
    assert.deepEqual(again.targets, first.targets);
    assert.equal(again.replayed, true);
  });
});
