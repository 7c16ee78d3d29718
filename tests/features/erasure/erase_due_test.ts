/** Erasing a whole stream: what readers, anchors and the store have afterwards. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { verifyBundle, verifyPage } from "../../../src/domain/audit/attestation.ts";
import { verifyReceipt } from "../../../src/domain/erasure/receipt.ts";
import { decodeEvent } from "../../../src/domain/event.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import { type Engine, EngineUnavailable } from "../../../src/kv/engine.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { Service } from "../../../src/features/service.ts";
import { keys } from "../../../src/store/keys.ts";
import { checkStore } from "../../../src/features/checks/check_store.ts";
import { saveSnapshot } from "../../../src/store/streams/snapshots.ts";
import { readHead } from "../../../src/store/streams/streams.ts";
import {
  drainErasures,
  erase,
  erasureOf,
  eventsOf,
  keysWith,
  segmentsOf,
} from "../../support/erasure_fixtures.ts";
import {
  ACTOR,
  noteWrite,
  orderWrite,
  refusalOf,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { stateText } from "../../support/parsed_state.ts";

const SECRET = "Grete Samsa";
const ORDER = streamKey("order", uuid(1));

function secrets(count: number, more = "") {
  const texts = Array.from({ length: count }, (_, index) => `${SECRET} ${index} ${more}`);
  return texts.map((text) => ({ type: "was_noted", data: { text } }));
}

async function fill({ service, tenants: { test } }: ServiceFixture, count = 3, more = "") {
  valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), secrets(count, more))));
  valueOf(await service.data.writeEvents(test, noteWrite(uuid(2), "of another")));
}

function readOrder({ service, tenants: { test } }: ServiceFixture, id = uuid(1)) {
  return service.data.readAggregate(test, { aggregateType: "order", id, synchronous: false });
}

Deno.test("each event of an erased stream is a marker with the hash of what was there, at the same place and time", async () => {
  await withService(async (fixture) => {
    const { service, host, tenants: { test } } = fixture;
    await fill(fixture, 2);
    host.timeMs += 5_000;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), `${SECRET} later`)));
    const before = await eventsOf(service, test, uuid(1));
    host.timeMs += 60_000;
    const { id } = await erase(fixture, ORDER);
    const after = await eventsOf(service, test, uuid(1));
    const markers = before.map(({ raw }) => ({
      key: ORDER,
      type: "_was_tombstoned",
      data: {
        tombstone_id: id,
        original_type: "was_noted",
        original_hash: createHash("sha256").update(raw).digest("hex"),
      },
      metadata: {
        actor: { type: "system_operator", id: "global" },
        timestamp: decodeEvent(raw).metadata.timestamp,
      },
    }));
    assert.deepEqual(after.map(({ raw }) => raw), markers.map((marker) => JSON.stringify(marker)));
    assert.deepEqual(after.map(({ id }) => id), before.map(({ id }) => id));
    assert.ok(verifyPage(after, { stream: ORDER, previous: undefined }).ok);
    assert.equal(new Set(after.map(({ raw }) => decodeEvent(raw).metadata.timestamp)).size, 2);
  });
});

Deno.test("nothing of an erased stream is left in the store, and nothing of others is gone", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    await fill(fixture, 300, "x".repeat(900));
    valueOf(await readOrder(fixture));
    await service.background.saveMemory(100);
    const before = await keysWith(engine, SECRET);
    assert.ok(before.length > await segmentsOf(engine, test.number, ORDER, 0), "a snapshot, too");
    await erase(fixture, ORDER);
    assert.deepEqual(await keysWith(engine, SECRET), []);
    assert.equal(await segmentsOf(engine, test.number, ORDER, 0), 0);
    assert.equal((await eventsOf(service, test, uuid(2))).length, 1);
  });
});

Deno.test("an erased aggregate is folded from its markers by the handler of the spec, length and listing stay", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    await fill(fixture);
    assert.match(stateText(valueOf(await readOrder(fixture)).dataJson), new RegExp(SECRET));
    await erase(fixture, ORDER);
    const { dataJson, length } = valueOf(await readOrder(fixture));
    assert.deepEqual([dataJson, length], ["{}", 3]);
    assert.equal(valueOf(await service.data.readLength(test, "order", uuid(1))), 3);
    const request = { aggregateType: "order", resolve: false, synchronous: false };
    const listed = valueOf(await service.data.listAggregates(test, request));
    assert.deepEqual(listed.entries.map(({ id }) => id), [uuid(1), uuid(2)]);
  });
});

Deno.test("an erased stream is written again behind its markers, and erased again only those change", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    await fill(fixture);
    const first = await erase(fixture, ORDER);
    const markers = await eventsOf(service, test, uuid(1));
    const guarded = { metadata: { actor: ACTOR, previous_length: 3 } };
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "again", guarded)));
    assert.match(stateText(valueOf(await readOrder(fixture)).dataJson), /again/);
    const second = await erase(fixture, ORDER);
    const after = await eventsOf(service, test, uuid(1));
    assert.deepEqual(after.slice(0, 3), markers);
    assert.equal(decodeEvent(after[3]!.raw).data.tombstone_id, second.id);
    const counts = [first, second].map(({ receipt }) => [
      receipt!.event_count,
      receipt!.erased_count,
      receipt!.generation,
    ]);
    assert.deepEqual(counts, [[3, 3, 1], [4, 1, 2]]);
  });
});

Deno.test("the receipt is signed by the instance and says what was done", async () => {
  await withService(async (fixture) => {
    const { service, engine, host, tenants: { test } } = fixture;
    await fill(fixture);
    const before = await engine.snapshot((tx) => readHead(tx, test.number, ORDER));
    const request = erasureOf(ORDER, { legal_basis: "GDPR 17 (1) b", grace_hours: 2 });
    const { id } = valueOf(await service.erasure.request(test, request));
    host.timeMs += 2 * 3_600_000 + 1_500;
    await service.background.drainTimers(100);
    await drainErasures(service);
    const { receipt } = valueOf(await service.erasure.read(test, id));
    const after = await engine.snapshot((tx) => readHead(tx, test.number, ORDER));
    const [{ public_key } = { public_key: "" }] = await service.audit.listSigningKeys(test);
    const { signature, ...said } = receipt!;
    assert.deepEqual(said, {
      format: 1,
      scope: "erasure",
      tombstone_id: id,
      instance_id: test.instanceId,
      environment: "test",
      key: ORDER,
      reason: "asked for by the customer",
      legal_basis: "GDPR 17 (1) b",
      requested_at: "2026-01-01T00:00:00.000Z",
      requested_by: "dpo",
      executed_at: "2026-01-01T02:00:01.500Z",
      completed_at: "2026-01-01T02:00:01.500Z",
      event_count: 3,
      erased_count: 3,
      generation: 1,
      previous_tip: before.tip,
      tip: after.tip,
      public_key,
    });
    assert.match(signature, /^[0-9a-f]{128}$/);
    assert.ok(verifyReceipt(receipt!));
  });
});

Deno.test("after an erasure old anchors prove every other stream, and the next one covers the markers", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    await fill(fixture, 700);
    const old = (await service.audit.makeAnchor(test)).anchor!;
    await erase(fixture, ORDER);
    const attest = (id: string, index: number, anchor?: string) =>
      service.audit.attest(test, { aggregateType: "order", id, index: String(index), anchor });
    for (const index of [0, 300, 699]) {
      const refusal = refusalOf(await attest(uuid(1), index, old.id));
      assert.deepEqual(refusal, { kind: "anchor_stream_mismatch", anchorId: old.id });
    }
    assert.ok(verifyBundle(valueOf(await attest(uuid(2), 0, old.id))).ok);
    const { isNew, anchor } = await service.audit.makeAnchor(test);
    assert.ok(isNew);
    assert.deepEqual([anchor!.event_count, anchor!.stream_count], [701, 2]);
    for (const index of [0, 300, 699]) {
      const bundle = valueOf(await attest(uuid(1), index));
      assert.ok(verifyBundle(bundle, { stream: ORDER, index }).ok);
      assert.equal(decodeEvent(bundle.event.raw).type, "_was_tombstoned");
    }
    assert.ok(verifyBundle(valueOf(await attest(uuid(2), 0))).ok);
    assert.deepEqual((await checkStore(engine, true)).faults, []);
  });
});

Deno.test("a state that was folded before an erasure is not saved after it", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    await fill(fixture, 2);
    const head = await engine.snapshot((tx) => readHead(tx, test.number, ORDER));
    const small = JSON.stringify({ notes: [SECRET] });
    // Needs more than one transaction.
    const large = JSON.stringify({ notes: [SECRET, "x".repeat(5_000_000)] });
    await erase(fixture, ORDER);
    const place = { tenant: test.number, stream: ORDER, foldHash: "fold" };
    const saving = { rest: () => undefined };
    for (const state of [small, large]) {
      const position = { length: head.length, bytes: head.bytes, generation: 0 };
      assert.equal(
        await saveSnapshot(engine, place, { ...position, state }, saving),
        false,
      );
      assert.deepEqual(await keysWith(engine, SECRET), []);
    }
    const { length, bytes, generation } = await engine.snapshot((tx) =>
      readHead(tx, test.number, ORDER)
    );
    const state = { length, bytes, generation, state: "{}" };
    assert.equal(
      await saveSnapshot(engine, place, state, saving),
      true,
    );
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "later")));
  });
});

Deno.test("a stream with one event more than two steps take is erased whole, and not before its last step", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    await fill(fixture, 4_001, "x".repeat(200));
    const before = await eventsOf(service, test, uuid(1));
    await erase(fixture, ORDER);
    const after = await eventsOf(service, test, uuid(1));
    assert.deepEqual(after.map(({ id }) => id), before.map(({ id }) => id));
    assert.ok(after.every(({ raw }) => decodeEvent(raw).type === "_was_tombstoned"));
    assert.ok(verifyPage(after, { stream: ORDER, previous: undefined }).ok);
    // More than one page of keys was removed.
    assert.deepEqual(await keysWith(engine, SECRET), []);
  });
});

Deno.test("there is no receipt before the store has emptied its logs of what was erased", async () => {
  let failures = 1;
  let forgotten = 0;
  const wrap = (engine: Engine): Engine =>
    wrapEngine(engine, {
      forget() {
        if (failures-- > 0) return Promise.reject(new EngineUnavailable("somebody reads there"));
        forgotten++;
        return Promise.resolve();
      },
    });
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    await fill(fixture);
    const { id } = valueOf(await service.erasure.request(test, erasureOf(ORDER)));
    await assert.rejects(service.erasure.eraseDue(100), { name: "EngineUnavailable" });
    const { state, receipt } = valueOf(await service.erasure.read(test, id));
    assert.deepEqual([state, receipt, forgotten], ["running", undefined, 0]);
    await drainErasures(service);
    assert.equal(valueOf(await service.erasure.read(test, id)).state, "completed");
    assert.equal(forgotten, 1);
  }, { wrap });
});

/** An engine that counts how often its logs are emptied; that takes so long by the clock. */
function emptied(fixture: () => ServiceFixture, takesMs: number) {
  const seen = { count: 0 };
  const wrap = (engine: Engine): Engine =>
    wrapEngine(engine, {
      async forget() {
        seen.count++;
        await engine.forget();
        fixture().host.timeMs += takesMs;
      },
    });
  return { seen, wrap };
}

async function request(service: Service, tenant: Tenant, from: number, count: number) {
  const ids: string[] = [];
  for (let number = from; number < from + count; number++) {
    valueOf(await service.data.writeEvents(tenant, noteWrite(uuid(number), SECRET)));
    const erasure = erasureOf(streamKey("order", uuid(number)));
    ids.push(valueOf(await service.erasure.request(tenant, erasure)).id);
  }
  return ids;
}

async function statesOf(service: Service, tenant: Tenant, ids: readonly string[]) {
  const all = await Promise.all(ids.map((id) => service.erasure.read(tenant, id)));
  return all.map((outcome) => valueOf(outcome).state);
}

Deno.test("the logs are emptied once for all erasures of a drain, and then not again at once", async () => {
  let fixture: ServiceFixture | undefined;
  const { seen, wrap } = emptied(() => fixture!, 100);
  await withService(async (opened) => {
    fixture = opened;
    const { service, host, tenants: { test } } = opened;
    const signal = () => opened.engine.snapshot((tx) => tx.get(keys.erasureSignal()));
    const first = await request(service, test, 1, 20);
    await drainErasures(service);
    assert.equal((await signal())?.toHex(), "0100000000000000", "caches are emptied once, too");
    assert.deepEqual(new Set(await statesOf(service, test, first)), new Set(["completed"]));
    assert.equal(seen.count, 1);
    const second = await request(service, test, 21, 5);
    await drainErasures(service);
    assert.deepEqual(new Set(await statesOf(service, test, second)), new Set(["running"]));
    assert.equal((await eventsOf(service, test, uuid(21)))[0]!.raw.includes(SECRET), false);
    host.timeMs += 4_999;
    assert.equal(await service.erasure.eraseDue(100), 0);
    host.timeMs += 1;
    assert.equal(await service.erasure.eraseDue(100), 5);
    assert.deepEqual(new Set(await statesOf(service, test, second)), new Set(["completed"]));
    assert.equal(seen.count, 2);
  }, { wrap });
});

Deno.test("the erasures of one environment do not wait for those of another, however many it has", async () => {
  await withService(async ({ service, tenants: { staging, test } }) => {
    const [low, high] = [staging, test].toSorted((a, b) => a.number - b.number) as [Tenant, Tenant];
    const many = await request(service, low, 1, 30);
    const few = await request(service, high, 1, 2);
    await service.erasure.eraseDue(4);
    assert.deepEqual(await statesOf(service, high, few), ["completed", "completed"]);
    await service.erasure.eraseDue(4);
    const done = async () =>
      (await statesOf(service, low, many)).filter((state) => state === "completed").length;
    assert.equal(await done(), 6);
    await drainErasures(service);
    assert.equal(await done(), 30);
  });
});
