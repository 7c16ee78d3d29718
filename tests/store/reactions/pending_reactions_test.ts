/** Pending reactions as they are listed, source after source. */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import { putEntry } from "../../../src/store/reactions/outbox.ts";
import { encodeEntry } from "../../../src/store/reactions/entry_bytes.ts";
import {
  listPendingReactions,
  nextSource,
  PENDING_SOURCES,
  type PendingPage,
  type PendingPlace,
} from "../../../src/store/reactions/pending_reactions.ts";
import { storeSchedule } from "../../../src/store/reactions/schedules.ts";
import type { SagaInstance } from "../../../src/domain/saga/instance.ts";
import { type SagaRecord, saveSaga } from "../../../src/store/sagas/sagas.ts";
import { charactersParsedIn } from "../../support/parsed_json.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 6;

Deno.test("each source comes after the one before, and nothing after the last", () => {
  const order: PendingPlace[] = [];
  for (let at = PENDING_SOURCES[0]; at !== undefined; at = nextSource(at)) order.push(at);
  assert.deepEqual(order, PENDING_SOURCES);
});

Deno.test("entries of the outbox come page by page, each once, with what a saga is to be shown", async () => {
  await withTemporaryEngine(async (engine) => {
    const entry = { kind: "sagas", eventType: "was_placed", requestId: "r" } as const;
    const value = encodeEntry({ entry, sinceMs: 1_000, waitMs: 0, tries: 2 });
    await engine.transact((tx) => {
      for (let number = 0; number < 40; number++) {
        const stream = streamKey("order", String(number).padStart(9, "0"));
        putEntry(tx, { tenant: TENANT, stream, index: 3, number: 0 }, value);
      }
      return Promise.resolve();
    });
    const keys: string[] = [];
    let place = PENDING_SOURCES[0];
    while (place?.source === "outbox") {
      const at = place;
      const page = await engine.snapshot((tx) => listPendingReactions(tx, TENANT, at, 2));
      for (const { bytes, open } of page.pieces) {
        assert.equal(bytes, value.length);
        const { view } = open();
        assert.deepEqual(view, {
          kind: "saga",
          key: view.key,
          event_type: "was_placed",
          root_key: view.key,
          since: "1970-01-01T00:00:01.000Z",
          tries: 2,
        });
        keys.push(view.key);
      }
      place = page.next;
    }
    assert.equal(keys.length, 40);
    assert.equal(new Set(keys).size, 40);
    assert.deepEqual(place, { source: "schedules" });
  });
});

Deno.test("a page of running sagas ends with the one that makes it a megabyte", async () => {
  await withTemporaryEngine(async (engine) => {
    const ids = ["s1", "s2", "s3", "s4", "s5"];
    await engine.transact((tx) => {
      for (const id of ids) saveSaga(tx, TENANT, undefined, largeSaga(id));
      return Promise.resolve();
    });
    const pages: (string | undefined)[][] = [];
    let place: PendingPlace | undefined = { source: "sagas", state: "running" };
    while (place?.source === "sagas" && place.state === "running") {
      const at: PendingPlace = place;
      const page: PendingPage = await engine.snapshot((tx) =>
        listPendingReactions(tx, TENANT, at, 100)
      );
      pages.push(page.pieces.map(({ open }) => open().saga?.instance.id));
      for (const { bytes } of page.pieces) assert.ok(bytes > 600_000);
      place = page.next;
    }
    assert.deepEqual(pages, [["s5", "s4"], ["s3", "s2"], ["s1"]]);
  });
});

Deno.test("a page of pending reactions is read without decoding what is large in it", async () => {
  await withTemporaryEngine(async (engine) => {
    const data = { text: "x".repeat(50_000) };
    const emission = {
      key: streamKey("order", "global"),
      aggregateType: "order",
      id: "global",
      eventType: "was_met",
      data,
    };
    const by = { key: "order:global", eventType: "was_placed", streamId: "000000000000" };
    const times = { createdMs: 1, fireAtMs: 2, timerMs: 2 };
    const actor = { type: "user", id: "global" } as const;
    const shared = { eventType: "was_placed", requestId: "r" };
    const entry = { kind: "emit", emission, actor, depth: 1, ...shared } as const;
    const value = encodeEntry({ entry, sinceMs: 1, waitMs: 0, tries: 0 });
    await engine.transact((tx) => {
      const stream = streamKey("order", "global");
      putEntry(tx, { tenant: TENANT, stream, index: 0, number: 0 }, value);
      const record = { id: "a", emission, cancelOn: [], by, requestId: "r", tries: 0, ...times };
      storeSchedule(tx, TENANT, record);
      saveSaga(tx, TENANT, undefined, largeSaga("s1"));
      return Promise.resolve();
    });
    for (const place of PENDING_SOURCES.slice(0, 3)) {
      let page: PendingPage | undefined;
      const parsed = await charactersParsedIn(async () => {
        page = await engine.snapshot((tx) => listPendingReactions(tx, TENANT, place, 9));
      });
      assert.ok(parsed < 1_000, `${parsed} characters`);
      assert.equal(page!.pieces.length, 1);
      assert.ok(page!.pieces[0]!.bytes > 50_000);
      assert.match(page!.pieces[0]!.open().view.event_type, /^was_(met|placed)$/);
    }
  });
});

function largeSaga(id: string): SagaRecord {
  const trigger = { key: "order:global", event_type: "was_placed", stream_id: "000000000000" };
  const data = { text: "x".repeat(600_000) };
  const metadata = { actor: { type: "user", id: "global" }, timestamp: 9 };
  const instance: SagaInstance = {
    id,
    name: "a",
    definition: "d",
    state: "running",
    startedAt: 9,
    updatedAt: 9,
    trigger,
    triggerEvent: { key: trigger.key, type: trigger.event_type, data, metadata },
    completed: [],
    history: [],
  };
  return { instance, depth: 1, requestId: "r" };
}
