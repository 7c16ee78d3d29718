/** Sagas in the store: the record, the lists, the waits, the definitions. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { StoredEvent } from "../../../src/domain/event.ts";
import {
  isEndState,
  SAGA_STATES,
  type SagaInstance,
  type SagaState,
} from "../../../src/domain/saga/instance.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import {
  clearSagaWaits,
  isSagaStarted,
  keepSagaDefinition,
  listSagas,
  listSagaWaits,
  readSaga,
  readSagaDefinition,
  readSagaStepNames,
  type SagaRecord,
  saveSaga,
  setSagaWaits,
} from "../../../src/store/sagas/sagas.ts";
import { encodeRecord } from "../../../src/store/json_record.ts";
import { keys } from "../../../src/store/keys.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 4;
const OTHER = 5;
const STREAM = streamKey("payment", "global");

function record(id: string, name: string, state: SagaState, data = {}): SagaRecord {
  const metadata = { actor: { type: "user", id: "global" }, timestamp: 9 };
  const event: StoredEvent = { key: "order:global", type: "was_placed", data, metadata };
  const instance: SagaInstance = {
    id,
    name,
    definition: "d",
    state,
    startedAt: 9,
    updatedAt: 9,
    trigger: { key: event.key, event_type: event.type, stream_id: "000000000000" },
    ...(!isEndState(state) && { triggerEvent: event }),
    completed: [],
    history: [],
  };
  return { instance, depth: 1, requestId: "r" };
}

function save(engine: Engine, before: SagaRecord | undefined, after: SagaRecord): Promise<number> {
  return engine.transact((tx) => Promise.resolve(saveSaga(tx, TENANT, before, after)));
}

Deno.test("saveSaga() keeps a saga of any size, and a smaller one in its place", async () => {
  await withTemporaryEngine(async (engine) => {
    const large = record("s1", "a", "running", { text: "x".repeat(400_000) });
    await save(engine, undefined, large);
    assert.deepEqual(await engine.snapshot((tx) => readSaga(tx, TENANT, "s1")), large);
    const small = record("s1", "a", "completed");
    const bytes = await save(engine, large, small);
    assert.equal(bytes, JSON.stringify(small).length);
    assert.deepEqual(await engine.snapshot((tx) => readSaga(tx, TENANT, "s1")), small);
    const left = await engine.snapshot((tx) =>
      // Everything except the FoundationDB engine's markers of commits.
      tx.getRange({ begin: new Uint8Array([0]), end: new Uint8Array([0xfe]) })
    );
    assert.equal(left.length, 4, "the record, two entries of lists, and a row of its trigger");
    assert.ok(await engine.snapshot((tx) => isSagaStarted(tx, TENANT, "s1")));
    assert.ok(!await engine.snapshot((tx) => isSagaStarted(tx, OTHER, "s1")));
  });
});

Deno.test("listSagas() pages through any sagas by name and state, the newest first", async () => {
  const anySaga = fc.record({
    name: fc.constantFrom("a", "b", "ab"),
    states: fc.array(fc.constantFrom(...SAGA_STATES), { minLength: 1, maxLength: 3 }),
  });
  const filter = fc.record({
    name: fc.option(fc.constantFrom("a", "b", "none"), { nil: undefined }),
    state: fc.option(fc.constantFrom(...SAGA_STATES), { nil: undefined }),
  });
  const property = fc.asyncProperty(
    fc.array(anySaga, { maxLength: 12 }),
    filter,
    fc.integer({ min: 1, max: 5 }),
    async (sagas, filter, limit) => {
      await withTemporaryEngine(async (engine) => {
        const kept = sagas.map(({ name, states }, number) => {
          const id = `s${String(number).padStart(3, "0")}`;
          return states.map((state) => record(id, name, state));
        });
        for (const changes of kept) {
          for (const [index, change] of changes.entries()) {
            await save(engine, changes[index - 1], change);
          }
        }
        const wanted = kept.map((changes) => changes.at(-1)!.instance)
          .filter(({ name }) => filter.name === undefined || filter.name === name)
          .filter(({ state }) => filter.state === undefined || filter.state === state)
          .map(({ id, name, state }) => ({ id, name, state })).reverse();
        const listed: typeof wanted = [];
        for (let page = 0; page <= wanted.length; page++) {
          const start = listed.at(-1)?.id;
          const found = await engine.snapshot((tx) =>
            listSagas(tx, TENANT, filter, { start, limit })
          );
          assert.ok(found.length <= limit);
          listed.push(...found.map(({ saga_id: id, name, state }) => ({ id, name, state })));
          if (found.length === 0) break;
        }
        assert.deepEqual(listed, wanted);
      });
    },
  );
  await fc.assert(property, { numRuns: 15 });
});

Deno.test("listSagaWaits() gives those who waited before the event, the first ones first", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => {
      setSagaWaits(tx, TENANT, { stream: STREAM, eventTypes: ["good", "bad"] }, {
        sagaId: "late",
        from: 7,
      });
      setSagaWaits(tx, TENANT, { stream: STREAM, eventTypes: ["good", "bad"] }, {
        sagaId: "early",
        from: 3,
      });
      setSagaWaits(tx, TENANT, { stream: STREAM, eventTypes: ["good"] }, {
        sagaId: "later",
        from: 8,
      });
      setSagaWaits(tx, OTHER, { stream: STREAM, eventTypes: ["good"] }, {
        sagaId: "other",
        from: 0,
      });
      return Promise.resolve();
    });
    const waitsFor = (eventType: string, index: number, limit = 10) =>
      engine.snapshot(async (tx) => {
        const event = { stream: STREAM, eventType, index };
        return (await listSagaWaits(tx, TENANT, event, limit)).map(({ sagaId }) => sagaId);
      });
    assert.deepEqual(await waitsFor("good", 2), []);
    assert.deepEqual(await waitsFor("good", 3), ["early"]);
    assert.deepEqual(await waitsFor("good", 7), ["early", "late"]);
    assert.deepEqual(await waitsFor("good", 100, 2), ["early", "late"]);
    assert.deepEqual(await waitsFor("bad", 100), ["early", "late"]);
    assert.deepEqual(await waitsFor("else", 100), []);
    await engine.transact((tx) => {
      clearSagaWaits(tx, TENANT, { stream: STREAM, eventTypes: ["good", "bad"] }, {
        sagaId: "early",
        from: 3,
      });
      return Promise.resolve();
    });
    assert.deepEqual(await waitsFor("good", 100), ["late", "later"]);
    assert.deepEqual(await waitsFor("bad", 100), ["late"]);
  });
});

Deno.test("keepSagaDefinition() keeps the first of each hash, of any size", async () => {
  await withTemporaryEngine(async (engine) => {
    const definition = { name: "a", saga: { title: "x".repeat(300_000) }, singletons: ["global"] };
    const keep = (name: string) =>
      engine.transact((tx) => keepSagaDefinition(tx, TENANT, "h", { ...definition, name }));
    assert.equal(await engine.snapshot((tx) => readSagaDefinition(tx, TENANT, "h")), undefined);
    await keep("a");
    await keep("b");
    assert.deepEqual(
      await engine.snapshot((tx) => readSagaDefinition(tx, TENANT, "h")),
      definition,
    );
  });
});

Deno.test("keepSagaDefinition() stores a long list of singletons once, and tells what it stores", async () => {
  await withTemporaryEngine(async (engine) => {
    const singletons = Array.from({ length: 20_000 }, (_, number) => `singleton-${number}`);
    const stored: number[] = [];
    for (const name of ["a", "b", "b"]) {
      const kept = { name, saga: { title: name }, singletons };
      stored.push(await engine.transact((tx) => keepSagaDefinition(tx, TENANT, name, kept)));
    }
    const size = JSON.stringify(singletons).length;
    assert.ok(stored[0]! > size && stored[0]! < size + 200, `${stored}`);
    assert.ok(stored[1]! > 0 && stored[1]! < 200, `${stored}`);
    assert.equal(stored[2], 0);
    for (const name of ["a", "b"]) {
      const read = await engine.snapshot((tx) => readSagaDefinition(tx, TENANT, name));
      assert.deepEqual(read, { name, saga: { title: name }, singletons });
    }
  });
});

Deno.test("readSagaDefinition() reads what an older build has stored, with its singletons within", async () => {
  await withTemporaryEngine(async (engine) => {
    const singletons = Array.from({ length: 1_000 }, (_, number) => `singleton-${number}`);
    const kept = { name: "a", saga: { steps: [{ name: "ask" }] }, singletons };
    await engine.transact((tx) => {
      tx.set(keys.sagaDefinition(TENANT, "old"), encodeRecord(kept));
      return Promise.resolve();
    });
    await engine.snapshot(async (tx) => {
      assert.deepEqual(await readSagaDefinition(tx, TENANT, "old"), kept);
      assert.deepEqual(await readSagaStepNames(tx, TENANT, "old"), ["ask"]);
      assert.deepEqual(await readSagaStepNames(tx, TENANT, "none"), []);
    });
  });
});
