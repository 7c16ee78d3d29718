/**
 * Single, batch and atomic writes; OCC and idempotency inside the transaction. See
 * docs/reference/writing.md.
 */

import assert from "node:assert/strict";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { WriteRequest } from "../../../src/domain/write/write.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import { type Engine, EngineUnavailable, type Transaction } from "../../../src/kv/engine.ts";
import type { Service } from "../../../src/features/service.ts";
import {
  ACTOR,
  firstIndexes,
  noteWrite,
  orderWrite,
  refusalOf,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";

function guarded(previous_length: number) {
  return { actor: ACTOR, previous_length };
}

async function length(service: Service, tenant: Tenant, id: string): Promise<number> {
  return valueOf(await service.data.readLength(tenant, "order", id));
}

async function rawEvents(service: Service, tenant: Tenant, id: string) {
  const request = { aggregateType: "order", id, direction: "forwards" as const };
  const page = valueOf(await service.data.readEvents(tenant, request));
  return page.entries.map(({ raw }) => JSON.parse(raw));
}

Deno.test("writeEvents() appends a single event and answers with its place", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (const index of [0, 1, 2]) {
      const written = valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "a")));
      const { targets, impliedCount, replayed } = written;
      assert.deepEqual(targets, [{ key: `order:${uuid(1)}`, first: index, count: 1 }]);
      assert.deepEqual([impliedCount, replayed], [0, false]);
    }
  });
});

Deno.test("writeEvents() stores key, type, data and metadata, stamped with the clock", async () => {
  await withService(async ({ service, host, tenants: { production } }) => {
    host.timeMs = Date.UTC(2026, 5, 1) + 999;
    valueOf(await service.data.writeEvents(production, noteWrite(uuid(1), "a")));
    assert.deepEqual(await rawEvents(service, production, uuid(1)), [{
      key: `order:${uuid(1)}`,
      type: "was_noted",
      data: { text: "a" },
      metadata: { actor: ACTOR, timestamp: Date.UTC(2026, 5, 1) / 1000 },
    }]);
  });
});

Deno.test("writeEvents() takes metadata.timestamp outside production, for every event", async () => {
  await withService(async ({ service, tenants: { staging } }) => {
    const events = [{ type: "was_viewed", data: {} }, { type: "was_viewed", data: {} }];
    const metadata = { actor: ACTOR, timestamp: 77 };
    valueOf(await service.data.writeEvents(staging, orderWrite(uuid(1), events, { metadata })));
    const stored = await rawEvents(service, staging, uuid(1));
    assert.deepEqual(stored.map((event) => event.metadata.timestamp), [77, 77]);
  });
});

Deno.test("writeEvents() does not store skip_occ", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const metadata = { actor: ACTOR, skip_occ: true };
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "a", { metadata })));
    const [stored] = await rawEvents(service, test, uuid(1));
    assert.deepEqual(Object.keys(stored.metadata), ["actor", "timestamp"]);
  });
});

Deno.test("writeEvents() refuses a wrong previous_length with both numbers, writing nothing", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "a")));
    for (const expected of [0, 2, 9]) {
      const request = noteWrite(uuid(1), "b", { metadata: guarded(expected) });
      const refusal = refusalOf(await service.data.writeEvents(test, request));
      assert.deepEqual(refusal, { kind: "occ_conflict", length: 1, expected });
    }
    assert.equal(await length(service, test, uuid(1)), 1);
  });
});

Deno.test("writeEvents() stores previous_length on the first event of a guarded write alone", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const events = [{ type: "was_viewed", data: {} }, { type: "was_viewed", data: {} }];
    for (const expected of [0, 2]) {
      const request = orderWrite(uuid(1), events, { metadata: guarded(expected) });
      valueOf(await service.data.writeEvents(test, request));
    }
    const stored = await rawEvents(service, test, uuid(1));
    const guards = stored.map((event) => event.metadata.previous_length);
    assert.deepEqual(guards, [0, undefined, 2, undefined]);
  });
});

Deno.test("writeEvents() without a guard never conflicts, however many write at once", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const writes = Array.from({ length: 200 }, (_, index) => noteWrite(uuid(1), `n${index}`));
    const outcomes = await Promise.all(writes.map((w) => service.data.writeEvents(test, w)));
    const places = outcomes.map((outcome) => firstIndexes(valueOf(outcome))[0]!);
    assert.deepEqual(places.sort((a, b) => a - b), Array.from({ length: 200 }, (_, i) => i));
    const stored = await rawEvents(service, test, uuid(1));
    assert.equal(new Set(stored.map((event) => event.data.text)).size, 200);
  });
});

Deno.test("writeEvents() lets exactly one of many writers with the same guard win", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    for (let round = 0; round < 5; round++) {
      const writes = Array.from(
        { length: 20 },
        (_, index) => noteWrite(uuid(1), `${round}.${index}`, { metadata: guarded(round) }),
      );
      const outcomes = await Promise.all(writes.map((w) => service.data.writeEvents(test, w)));
      assert.equal(outcomes.filter(({ ok }) => ok).length, 1);
      for (const outcome of outcomes) {
        if (!outcome.ok) assert.equal(outcome.refusal.kind, "occ_conflict");
      }
    }
    assert.equal(await length(service, test, uuid(1)), 5);
  });
});

Deno.test("writeEvents() writes a batch wholly, in order, or not at all", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const note = (text: unknown) => ({ type: "was_noted", data: { text } });
    const good = orderWrite(uuid(1), [note("a"), note("b"), note("c")]);
    assert.deepEqual(valueOf(await service.data.writeEvents(test, good)).targets, [
      { key: `order:${uuid(1)}`, first: 0, count: 3 },
    ]);
    const bad = orderWrite(uuid(1), [note("d"), note(5)]);
    const refusal = refusalOf(await service.data.writeEvents(test, bad));
    assert.equal(refusal.kind, "schema_validation");
    assert.equal("eventIndex" in refusal && refusal.eventIndex, 1);
    const texts = (await rawEvents(service, test, uuid(1))).map((event) => event.data.text);
    assert.deepEqual(texts, ["a", "b", "c"]);
  });
});

Deno.test("writeEvents() writes 10,000 events at once", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const events = Array.from(
      { length: limits.batchEventsMax },
      (_, n) => ({ type: "was_viewed", data: { n } }),
    );
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), events)));
    assert.equal(await length(service, test, uuid(1)), 10_000);
  });
});

Deno.test("writeEvents() refuses what would store more than 8,000,000 bytes, writing nothing", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const fill = "x".repeat(100_000);
    const events = Array.from({ length: 80 }, () => ({ type: "was_viewed", data: { fill } }));
    const refusal = refusalOf(await service.data.writeEvents(test, orderWrite(uuid(1), events)));
    assert.equal(refusal.kind, "payload_too_large");
    assert.equal("limit" in refusal && refusal.limit, 8_000_000);
    assert.equal(await length(service, test, uuid(1)), 0);
    const fits = orderWrite(uuid(1), events.slice(0, 79));
    valueOf(await service.data.writeEvents(test, fits));
  });
});

function atomic(
  targets: readonly { id: string; text: string; previousLength?: number }[],
): WriteRequest {
  return {
    form: "atomic",
    targets: targets.map(({ id, text, previousLength }) => ({
      aggregateType: "order",
      id,
      events: [{ type: "was_noted", data: { text } }],
      previousLength,
    })),
    metadata: { actor: ACTOR },
    requestId: "request-1",
  };
}

Deno.test("writeEvents() writes over ten aggregates at once", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const targets = Array.from({ length: 10 }, (_, n) => ({ id: uuid(n), text: "a" }));
    const written = valueOf(await service.data.writeEvents(test, atomic(targets)));
    assert.equal(written.targets.length, 10);
    for (const { id } of targets) assert.equal(await length(service, test, id), 1);
  });
});

Deno.test("writeEvents() lands nothing of an atomic write when one target conflicts", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(2), "first")));
    const request = atomic([
      { id: uuid(1), text: "a", previousLength: 0 },
      { id: uuid(2), text: "b", previousLength: 0 },
    ]);
    const refusal = refusalOf(await service.data.writeEvents(test, request));
    assert.deepEqual(refusal, {
      kind: "occ_conflict_atomic",
      key: `order:${uuid(2)}`,
      length: 1,
      expected: 0,
    });
    assert.equal(await length(service, test, uuid(1)), 0);
    assert.equal(await length(service, test, uuid(2)), 1);
  });
});

Deno.test("writeEvents() keeps absent and 0 apart in the metadata of an atomic write", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const request = atomic([
      { id: uuid(1), text: "a", previousLength: 0 },
      { id: uuid(2), text: "b" },
    ]);
    valueOf(await service.data.writeEvents(test, request));
    const [conditioned] = await rawEvents(service, test, uuid(1));
    const [unconditioned] = await rawEvents(service, test, uuid(2));
    assert.equal(conditioned.metadata.previous_length, 0);
    assert.equal("previous_length" in unconditioned.metadata, false);
  });
});

Deno.test("writeEvents() never lands half of concurrent atomic writes over shared streams", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const writes = Array.from({ length: 60 }, (_, n) => {
      const ids = [n % 5, (n + 1) % 5, (n + 2) % 5].map(uuid);
      return atomic(ids.map((id) => ({ id, text: `w${n}` })));
    });
    const singles = Array.from({ length: 60 }, (_, n) => noteWrite(uuid(n % 5), `s${n}`));
    const outcomes = await Promise.all(
      [...writes, ...singles].map((write) => service.data.writeEvents(test, write)),
    );
    outcomes.forEach(valueOf);
    const seen = new Map<string, number>();
    for (let n = 0; n < 5; n++) {
      for (const { data: { text } } of await rawEvents(service, test, uuid(n))) {
        seen.set(text, (seen.get(text) ?? 0) + 1);
      }
    }
    for (let n = 0; n < 60; n++) {
      assert.equal(seen.get(`w${n}`), 3);
      assert.equal(seen.get(`s${n}`), 1);
    }
  });
});

Deno.test("writeEvents() keeps environments apart", async () => {
  await withService(async ({ service, tenants }) => {
    valueOf(await service.data.writeEvents(tenants.test, noteWrite(uuid(1), "a")));
    assert.equal(await length(service, tenants.staging, uuid(1)), 0);
    assert.equal(await length(service, tenants.production, uuid(1)), 0);
  });
});

Deno.test("a write whose reads all fail is refused once; no failure is left unheard", async () => {
  let isAway = false;
  const failing = (tx: Transaction): Transaction =>
    new Proxy(tx, {
      get(target, name) {
        if (isAway && name === "get") return () => Promise.reject(new EngineUnavailable("away"));
        const value = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  const wrap = (engine: Engine): Engine =>
    wrapEngine(engine, {
      transact: (body) => engine.transact((tx) => body(failing(tx))),
    });
  await withService(async ({ service, tenants: { test } }) => {
    const idempotency = { key: "k", bodyHash: "0".repeat(64) };
    const write = noteWrite(uuid(1), "a", { idempotency });
    isAway = true;
    await assert.rejects(service.data.writeEvents(test, write), EngineUnavailable);
    // An unhandled rejection would end the process, or here the test, by the next turn.
    await new Promise((resolve) => setTimeout(resolve));
    isAway = false;
    assert.equal(valueOf(await service.data.writeEvents(test, write)).replayed, false);
  }, { wrap });
});
