/**
 * Erasure under faults: each event is erased once or written behind the markers. Commits lose
 * their replies, processes die at any commit, others erase the same stream and writers write to
 * it. Nothing is lost, and nothing of the data remains.
 */

import assert from "node:assert/strict";
import { verifyBundle, verifyPage } from "../../../src/domain/audit/attestation.ts";
import { verifyReceipt } from "../../../src/domain/erasure/receipt.ts";
import { decodeEvent } from "../../../src/domain/event.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { checkStore } from "../../../src/features/checks/check_store.ts";
import { drainErasures, erasureOf, eventsOf, keysWith } from "../../support/erasure_fixtures.ts";
import { COMMIT_FAULTS, type Fault, faultyEngine } from "../../support/faulty_engine.ts";
import { NODE_STORES } from "../../support/node_stores.ts";
import {
  noteWrite,
  orderWrite,
  refusalOf,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { withTwoNodes } from "../../support/two_nodes.ts";

const SECRET = "Grete Samsa";
const ORDER = streamKey("order", uuid(1));
/** More than one step of a rewrite takes. */
const EVENTS = 30;
const LARGE = "x".repeat(990);
/** No erasure below has more commits; a test fails otherwise. */
const COMMITS_MAX = 60;

/** Events of 100 KB: a step takes about ten of them. */
function largeEvents(count: number) {
  const text = () => `${SECRET} ${LARGE}`.slice(0, 1_000);
  const lines = Array.from({ length: 95 }, () => text());
  return Array.from({ length: count }, () => ({
    type: "was_placed",
    data: { customer: SECRET, lines },
  }));
}

async function fill({ service, tenants: { test } }: ServiceFixture): Promise<void> {
  for (let count = 0; count < EVENTS; count += 10) {
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), largeEvents(10))));
  }
  valueOf(await service.data.writeEvents(test, noteWrite(uuid(2), "of another")));
  await service.audit.makeAnchor(test);
}

/** Must hold whatever has happened: the erasure took place, once. */
async function checkErased(
  { service, engine, tenants: { test } }: Pick<ServiceFixture, "service" | "engine" | "tenants">,
  id: string,
): Promise<void> {
  const { state, receipt } = valueOf(await service.erasure.read(test, id));
  assert.equal(state, "completed");
  assert.ok(verifyReceipt(receipt!));
  const events = await eventsOf(service, test, uuid(1));
  assert.ok(verifyPage(events, { stream: ORDER, previous: undefined }).ok);
  const erased = events.slice(0, receipt!.event_count).map(({ raw }) => decodeEvent(raw));
  assert.ok(erased.every(({ data }) => data.tombstone_id === id));
  assert.equal(events[receipt!.event_count - 1]!.hash, receipt!.tip);
  assert.equal(receipt!.generation, 1);
  assert.deepEqual(await keysWith(engine, SECRET), []);
  assert.deepEqual((await checkStore(engine, true)).faults, []);
  const waiting = (await service.background.measureQueues()).filter(({ depth }) => depth > 0);
  assert.deepEqual(waiting, []);
}

/**
 * Each fault meets one commit out of so many. With as many as there are faults, all of them
 * together meet every commit: engines other than the embedded one take a second for an erasure.
 */
const SHARES = Deno.env.get("TEST_STORE") === undefined
  ? Number(Deno.env.get("ERASURE_SHARES") ?? 1)
  : COMMIT_FAULTS.length;

/** Erases with the fault in one commit, one run for each commit from `first` to the last. */
async function atEachCommit(fault: Fault, first: number) {
  for (let at = first; at < COMMITS_MAX; at += SHARES) {
    let seen: number | undefined;
    const wrap = (engine: Engine) =>
      faultyEngine(engine, () => seen !== undefined && seen++ === at ? fault : undefined);
    await withService(async (fixture) => {
      const { service, tenants: { test } } = fixture;
      await fill(fixture);
      const { id } = valueOf(await service.erasure.request(test, erasureOf(ORDER)));
      seen = 0;
      await drainErasures(service);
      await checkErased(fixture, id);
    }, { wrap });
    if (seen! <= at) return at;
  }
  throw new Error("there is no end of commits");
}

for (const [number, { name, fault }] of COMMIT_FAULTS.entries()) {
  Deno.test(`each commit of an erasure in turn: ${name}; the stream is erased once`, async () => {
    const commits = await atEachCommit(fault, number % SHARES);
    assert.ok(commits > 10, `only ${commits} commits were tried`);
  });
}

for (const { name, fault } of COMMIT_FAULTS) {
  Deno.test(`the commit of a request: ${name}; there is one request or none`, async () => {
    let isArmed = false;
    const plan = () => {
      const now = isArmed;
      isArmed = false;
      return now ? fault : undefined;
    };
    await withService(async ({ service, tenants: { test } }) => {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "one")));
      isArmed = true;
      const asking = service.erasure.request(test, erasureOf(ORDER, { grace_hours: 1 }));
      if (fault.kind === "unavailable") await assert.rejects(asking);
      else valueOf(await asking);
      const { data } = valueOf(await service.erasure.list(test, {}));
      assert.equal(data.length, fault.kind === "unavailable" && !fault.landed ? 0 : 1);
    }, { wrap: (engine) => faultyEngine(engine, plan) });
  });
}

Deno.test("readers see all events or all markers at any moment, and a cut that is under way is void", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    await fill(fixture);
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(2), "news for an anchor")));
    const { id } = valueOf(await service.erasure.request(test, erasureOf(ORDER)));
    const seen = new Set<string>();
    for (let steps = 1; steps > 0;) {
      let asked = 0;
      steps = await service.erasure.eraseDue(1, () => ++asked > 1);
      const types = (await eventsOf(service, test, uuid(1))).map(({ raw }) =>
        decodeEvent(raw).type
      );
      assert.equal(types.length, EVENTS);
      assert.equal(new Set(types).size, 1);
      seen.add(types[0]!);
      assert.deepEqual((await checkStore(engine, true)).faults, []);
      const anchor = await service.audit.makeAnchor(test);
      assert.equal(anchor.anchor!.event_count, EVENTS + 2);
    }
    assert.deepEqual([...seen], ["was_placed", "_was_tombstoned"]);
    await checkErased(fixture, id);
  });
});

for (const { name, open } of NODE_STORES) {
  Deno.test(`writers on two nodes race the erasure: nothing is lost, what is later stands behind the markers (${name})`, async () => {
    await withTwoNodes(open, async (nodes) => {
      const { a, b, tenants: { test } } = nodes;
      const fixture = { ...a, tenants: nodes.tenants, host: a.host };
      await fill(fixture);
      const { id } = valueOf(await a.service.erasure.request(test, erasureOf(ORDER)));
      let isOver = false;
      const acknowledged: number[] = [];
      const write = async (node: typeof a, label: string) => {
        for (let number = 0; !isOver && number < 500; number++) {
          const request = noteWrite(uuid(1), `${label} ${number}`);
          acknowledged.push(
            valueOf(await node.service.data.writeEvents(test, request)).targets[0]!.first,
          );
        }
      };
      const writing = [write(a, "a"), write(b, "b"), write(a, "c")];
      const erasing = Promise.all([drainErasures(a.service), drainErasures(b.service)]);
      await erasing;
      for (const node of [a, b]) await drainErasures(node.service);
      valueOf(await b.service.data.writeEvents(test, noteWrite(uuid(1), "the last")));
      isOver = true;
      await Promise.all(writing);
      const events = await eventsOf(a.service, test, uuid(1));
      const { event_count } = valueOf(await b.service.erasure.read(test, id)).receipt!;
      // Each place was given out once, and each is there.
      assert.equal(new Set(acknowledged).size, acknowledged.length);
      assert.equal(events.length, EVENTS + acknowledged.length + 1);
      assert.ok(event_count > EVENTS && event_count < events.length, `${event_count} were erased`);
      const later = events.slice(event_count).map(({ raw }) => decodeEvent(raw).type);
      assert.deepEqual(new Set(later), new Set(["was_noted"]));
      await checkErased(fixture, id);
    });
  });

  Deno.test(`a node that dies in the middle is followed by another (${name})`, async () => {
    await withTwoNodes(open, async (nodes) => {
      const { a, b, tenants: { test } } = nodes;
      const fixture = { ...b, tenants: nodes.tenants, host: b.host };
      await fill(fixture);
      const { id } = valueOf(await a.service.erasure.request(test, erasureOf(ORDER)));
      for (const stopped of [1, 2, 4, 7]) {
        const node = stopped % 2 === 0 ? a : b;
        let asked = 0;
        await node.service.erasure.eraseDue(1, () => ++asked > stopped);
        // A node that was silent for this long has lost its leases.
        nodes.pass(60_000);
      }
      await drainErasures(b.service);
      await drainErasures(a.service);
      await checkErased(fixture, id);
    });
  });
}

Deno.test("an anchor that an erasure meets, before any of its commits, is one of the markers", async () => {
  let isOver = false;
  for (let at = 0; !isOver && at < COMMITS_MAX; at++) {
    let meet: (() => Promise<void>) | undefined;
    let commits = 0;
    const wrap = (engine: Engine) =>
      wrapEngine(engine, {
        async transact(body) {
          const now = meet !== undefined && commits++ === at ? meet : undefined;
          if (now !== undefined) meet = undefined;
          await now?.();
          return await engine.transact(body);
        },
      });
    await withService(async (fixture) => {
      const { service, engine, tenants: { test } } = fixture;
      await fill(fixture);
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), `${SECRET}: news`)));
      const { id } = valueOf(await service.erasure.request(test, erasureOf(ORDER)));
      meet = () => drainErasures(service);
      const { anchor } = await service.audit.makeAnchor(test);
      isOver = meet !== undefined;
      if (isOver) return;
      for (const number of [1, 2]) {
        const request = {
          aggregateType: "order",
          id: uuid(number),
          index: "0",
          anchor: anchor!.id,
        };
        const bundle = valueOf(await service.audit.attest(test, request));
        assert.ok(verifyBundle(bundle).ok, `commit ${at}`);
      }
      assert.equal(anchor!.event_count, EVENTS + 2);
      assert.equal(valueOf(await service.erasure.read(test, id)).state, "completed");
      assert.deepEqual((await checkStore(engine, true)).faults, []);
    }, { wrap });
  }
  assert.ok(isOver, "each commit was met");
});

for (const { name, open } of NODE_STORES) {
  Deno.test(`what is written while the swap is about to commit is erased too, not lost (${name})`, async () => {
    let isHeld = false;
    let nextWrite = Promise.withResolvers<void>();
    // Each commit of B waits until something was written after its transaction has read.
    const wrapB = (engine: Engine) =>
      wrapEngine(engine, {
        transact: (body) =>
          engine.transact(async (tx) => {
            const value = await body(tx);
            if (isHeld) await nextWrite.promise;
            return value;
          }),
      });
    await withTwoNodes(open, async (nodes) => {
      const { a, b, tenants: { test } } = nodes;
      valueOf(await a.service.data.writeEvents(test, noteWrite(uuid(1), SECRET)));
      const { id } = valueOf(await a.service.erasure.request(test, erasureOf(ORDER)));
      // B holds all leases: A does no other work.
      await b.service.background.renewShare();
      nodes.pass(60_000);
      await b.service.background.renewShare();
      isHeld = true;
      const erasing = drainErasures(b.service);
      let written = 1;
      for (; written < 40; written++) {
        valueOf(await a.service.data.writeEvents(test, noteWrite(uuid(1), `${SECRET} ${written}`)));
        nextWrite.resolve();
        nextWrite = Promise.withResolvers();
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      isHeld = false;
      nextWrite.resolve();
      await erasing;
      await drainErasures(b.service);
      const events = await eventsOf(a.service, test, uuid(1));
      assert.equal(events.length, written);
      assert.ok(verifyPage(events, { stream: ORDER, previous: undefined }).ok);
      const { event_count } = valueOf(await a.service.erasure.read(test, id)).receipt!;
      assert.ok(event_count > 1, "some came before the swap");
      const types = events.map(({ raw }) => decodeEvent(raw).type);
      assert.ok(types.slice(0, event_count).every((type) => type === "_was_tombstoned"));
      assert.ok(types.slice(event_count).every((type) => type === "was_noted"));
    }, { wrapB });
  });
}

Deno.test("a stream that is damaged keeps no other from being erased", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    const { keys } = await import("../../../src/store/keys.ts");
    const note = { type: "was_noted", data: { text: "one" } };
    for (const number of [1, 2]) {
      valueOf(await service.data.writeEvents(test, orderWrite(uuid(number), [note, note])));
    }
    const damaged = keys.segment(test.number, ORDER, 0);
    const value = await engine.snapshot((tx) => tx.get(damaged));
    await engine.transact((tx) => Promise.resolve(tx.clear(damaged)));
    const [first, second] = await Promise.all(
      [1, 2].map(async (number) =>
        valueOf(await service.erasure.request(test, erasureOf(`order:${uuid(number)}`)))
      ),
    );
    await drainErasures(service);
    assert.equal(valueOf(await service.erasure.read(test, second!.id)).state, "completed");
    assert.equal(refusalOf(await service.erasure.cancel(test, second!.id)).kind, "erasure_begun");
    assert.notEqual(valueOf(await service.erasure.read(test, first!.id)).state, "completed");
    await engine.transact((tx) => Promise.resolve(tx.set(damaged, value!)));
    await drainErasures(service);
    assert.equal(valueOf(await service.erasure.read(test, first!.id)).state, "completed");
  });
});
