/** Anchors and bundles on a whole service: what is signed, what is proved, what is refused. */

import assert from "node:assert/strict";
import { verifyInstanceAnchor } from "../../../src/domain/audit/anchor.ts";
import { verifyBundle } from "../../../src/domain/audit/attestation.ts";
import { merkleRoot } from "../../../src/domain/audit/merkle.ts";
import { frontierRoot } from "../../../src/domain/audit/frontier.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { listPublicKeys } from "../../../src/features/audit/read_evidence.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { storeSigningKey } from "../../../src/store/audit/signing_keys.ts";
import { keys } from "../../../src/store/keys.ts";
import { readHead } from "../../../src/store/streams/streams.ts";
import { leaveCut } from "../../support/anchor_fixtures.ts";
import { startAuditOracle } from "../../support/audit_oracle.ts";
import {
  noteWrite,
  orderWrite,
  refusalOf,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { changeHead } from "../../support/stored_head.ts";

function notes(count: number) {
  const texts = Array.from({ length: count }, (_, index) => `note ${index}`);
  return texts.map((text) => ({ type: "was_noted", data: { text } }));
}

function attest(
  { service, tenants: { test } }: ServiceFixture,
  id: string,
  index: number | string,
  anchor?: string,
) {
  return service.audit.attest(test, { aggregateType: "order", id, index: String(index), anchor });
}

async function anchorNow({ service, tenants: { test } }: ServiceFixture) {
  const { anchor, isNew } = await service.audit.makeAnchor(test);
  return { anchor: anchor!, isNew };
}

Deno.test("makeAnchor() signs the tree over all streams by key, and makes none where nothing is new", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    assert.deepEqual(await service.audit.makeAnchor(test), { isNew: false, anchor: undefined });
    for (const number of [3, 1, 2]) {
      valueOf(await service.data.writeEvents(test, orderWrite(uuid(number), notes(number))));
    }
    const { anchor, isNew } = await anchorNow(fixture);
    assert.ok(isNew && verifyInstanceAnchor(anchor));
    const roots = await engine.snapshot((tx) =>
      Promise.all([1, 2, 3].map(async (number) => {
        const { length, peaks } = await readHead(tx, test.number, streamKey("order", uuid(number)));
        return frontierRoot({ count: length, peaks });
      }))
    );
    assert.equal(anchor.merkle_root, merkleRoot(roots));
    assert.deepEqual([anchor.event_count, anchor.stream_count], [6, 3]);
    assert.deepEqual([anchor.environment, anchor.instance_id], ["test", test.instanceId]);
    assert.deepEqual(await anchorNow(fixture), { anchor, isNew: false });
  });
});

Deno.test("makeAnchor() covers all that was written, also where somebody has died on an older cut", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "before")));
    await leaveCut(engine, test);
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(2), "since")));
    const { anchor, isNew } = await anchorNow(fixture);
    assert.deepEqual([isNew, anchor.event_count], [true, 2]);
    const { data } = valueOf(await service.audit.listAnchors(test, {}));
    assert.deepEqual(data.map(({ event_count }) => event_count), [2, 1]);
    assert.deepEqual(await anchorNow(fixture), { anchor, isNew: false });
    // An anchor of an abandoned cut is new and the newest, even if nothing was written since.
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(3), "more")));
    await leaveCut(engine, test);
    const last = await anchorNow(fixture);
    assert.deepEqual([last.isNew, last.anchor.event_count], [true, 3]);
  });
});

Deno.test("a bundle of every event of every stream verifies under each of fifty anchors", async () => {
  const oracle = await startAuditOracle();
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    const lengths = new Map<string, number>();
    const anchors: { id: string; lengths: Map<string, number> }[] = [];
    for (let round = 0; round < 50; round++) {
      // Keys come unsorted, so that new streams fall before, between and behind old ones.
      const added = uuid((round * 37) % 101);
      const grown = uuid(((round >> 1) * 37) % 101);
      for (const id of new Set([added, grown])) {
        const count = 1 + round % 3;
        valueOf(await service.data.writeEvents(test, orderWrite(id, notes(count))));
        lengths.set(id, (lengths.get(id) ?? 0) + count);
      }
      anchors.push({ id: (await anchorNow(fixture)).anchor.id, lengths: new Map(lengths) });
    }
    const documents: Uint8Array[] = [];
    for (const anchor of anchors) {
      for (const [id, length] of anchor.lengths) {
        for (let index = 0; index < length; index++) {
          const bundle = valueOf(await attest(fixture, id, index, anchor.id));
          const stream = streamKey("order", id);
          const verdict = verifyBundle(bundle, { stream, index });
          assert.ok(verdict.ok, JSON.stringify(verdict));
          assert.equal(bundle.stream.event_count, length);
          if (documents.length < 500) {
            documents.push(new TextEncoder().encode(JSON.stringify(bundle)));
          }
        }
      }
    }
    const judged = await oracle?.judge(documents);
    assert.ok(judged === undefined || judged.every((verdict) => verdict === "ok"));
  });
  await oracle?.[Symbol.asyncDispose]();
});

Deno.test("a bundle of any event of a long stream verifies, under an old anchor and a new one", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    const id = uuid(1);
    valueOf(await service.data.writeEvents(test, orderWrite(id, notes(700))));
    const old = (await anchorNow(fixture)).anchor.id;
    valueOf(await service.data.writeEvents(test, orderWrite(id, notes(900))));
    await anchorNow(fixture);
    for (const [anchor, length] of [[old, 700], [undefined, 1600]] as const) {
      for (const index of [0, 1, 255, 256, 300, 511, 512, 600, length - 1]) {
        const bundle = valueOf(await attest(fixture, id, index, anchor));
        assert.ok(verifyBundle(bundle, { index }).ok);
        assert.equal(bundle.stream.event_count, length);
      }
    }
  });
});

Deno.test("attest() refuses what an anchor does not cover, and says what it covers", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test, staging } } = fixture;
    const kindOf = async (id: string, index: number | string, anchor?: string) =>
      refusalOf(await attest(fixture, id, index, anchor));
    assert.equal((await kindOf(uuid(1), 0)).kind, "anchor_not_found");
    assert.equal((await kindOf(uuid(1), "-1")).kind, "invalid_index", "before the first anchor");
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), notes(2))));
    const { anchor } = await anchorNow(fixture);
    const covers = { anchorId: anchor.id, anchorCreatedAt: anchor.created_at };
    const kind = "beyond_anchor_coverage";
    assert.equal((await kindOf(uuid(2), 0)).kind, "stream_not_found");
    for (const index of ["2", "9007199254740993", "1" + "0".repeat(400)]) {
      assert.deepEqual(await kindOf(uuid(1), index), {
        kind,
        reason: "index",
        ...covers,
        coveredEventCount: 2,
      });
    }
    for (const number of [0, 2]) {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(number), "later")));
      const refusal = await kindOf(uuid(number), 0);
      assert.deepEqual(refusal, { kind, reason: "stream", ...covers, coveredEventCount: 0 });
    }
    for (const index of ["-1", "1.0", "01", "", "x", "1e0", "+1", "0x1"]) {
      assert.equal((await kindOf(uuid(1), index)).kind, "invalid_index");
    }
    assert.equal((await kindOf(uuid(1), 0, "anc_other")).kind, "anchor_not_found");
    const elsewhere = { aggregateType: "order", id: uuid(1), index: "0", anchor: anchor.id };
    assert.equal(
      refusalOf(await service.audit.attest(staging, elsewhere)).kind,
      "anchor_not_found",
    );
    assert.equal((await kindOf("?", 0)).kind, "identifier_invalid");
  });
});

Deno.test("attest() finds that a stream is not what was signed, and that an anchor is of format 1", async () => {
  await withService(async (fixture) => {
    const { service, engine, tenants: { test } } = fixture;
    for (const number of [1, 2]) {
      valueOf(await service.data.writeEvents(test, orderWrite(uuid(number), notes(2))));
    }
    const { anchor } = await anchorNow(fixture);
    const stream = streamKey("order", uuid(1));
    await engine.transact(async (tx) => {
      const other = await tx.get(keys.segment(test.number, streamKey("order", uuid(2)), 0));
      tx.set(keys.segment(test.number, stream, 0, 1), other!);
      await changeHead(tx, test.number, stream, { generation: 1 });
    });
    const mismatch = { kind: "anchor_stream_mismatch", anchorId: anchor.id };
    assert.deepEqual(refusalOf(await attest(fixture, uuid(1), 1)), mismatch);
    assert.ok(verifyBundle(valueOf(await attest(fixture, uuid(2), 1))).ok);
    await engine.transact((tx) => {
      const { format: _, ...old } = anchor;
      const value = new TextEncoder().encode(JSON.stringify(old));
      return Promise.resolve(tx.set(keys.anchor(test.number, 1), value));
    });
    const unsupported = { kind: "anchor_format_unsupported", anchorId: anchor.id };
    assert.deepEqual(refusalOf(await attest(fixture, uuid(2), 1)), unsupported);
  });
});

Deno.test("rotateSigningKey() signs later anchors with another key; older ones keep theirs", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "first")));
    const before = (await anchorNow(fixture)).anchor;
    const rotated = await service.audit.rotateSigningKey(test);
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "second")));
    const after = (await anchorNow(fixture)).anchor;
    assert.equal(after.public_key, rotated.public_key);
    const listed = await service.audit.listSigningKeys(test);
    assert.deepEqual(listed.map((key) => key.public_key), [before.public_key, after.public_key]);
    assert.deepEqual(Object.keys(listed[0]!), ["public_key", "created_at"]);
    assert.deepEqual(await service.audit.readSigningKey(test), listed[1]);
    for (const anchor of [before, after]) {
      assert.ok(verifyInstanceAnchor(anchor));
      assert.ok(verifyBundle(valueOf(await attest(fixture, uuid(1), 0, anchor.id))).ok);
    }
  });
});

Deno.test("listPublicKeys() reads at most 500 keys at a time, and tells all", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    const rest = { public_key: "aa", private_key: "bb", created_at: "2026-01-01T00:00:00.000Z" };
    await engine.transact((tx) => {
      for (let number = 2; number <= 1_200; number++) {
        storeSigningKey(tx, test.instanceId, { ...rest, number });
      }
      return Promise.resolve();
    });
    const read: number[] = [];
    const watched: Engine = {
      ...engine,
      snapshot: (body) =>
        engine.snapshot((tx) => {
          const getRange: typeof tx.getRange = async (range, wanted) => {
            const pairs = await tx.getRange(range, wanted);
            read.push(pairs.length);
            return pairs;
          };
          return body({ get: (key) => tx.get(key), readVersion: () => tx.readVersion(), getRange });
        }),
    };
    const listed = await listPublicKeys(watched, host, test);
    assert.deepEqual([listed.length, read], [1_200, [500, 500, 200]]);
    assert.deepEqual(listed, await service.audit.listSigningKeys(test));
    assert.deepEqual(listed.at(-1), await service.audit.readSigningKey(test));
  });
});

Deno.test("listAnchors() pages from the newest to the oldest", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    const ids: string[] = [];
    for (let round = 0; round < 5; round++) {
      valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "again")));
      ids.unshift((await anchorNow(fixture)).anchor.id);
    }
    const listed: string[] = [];
    let start: string | undefined;
    for (let pages = 0; pages < 3; pages++) {
      const page = valueOf(await service.audit.listAnchors(test, { limit: 2, start }));
      listed.push(...page.data.map(({ id }) => id));
      assert.equal(page.truncated, pages < 2);
      start = page.next_start;
    }
    assert.deepEqual(listed, ids);
    const unknown = await service.audit.listAnchors(test, { start: "anc_other" });
    assert.equal(refusalOf(unknown).kind, "bad_request");
  });
});
