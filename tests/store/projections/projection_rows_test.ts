/** Rows of projections: whole however large, found by their sources, logged when they change. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { ProjectionPlace } from "../../../src/domain/projection/ready_projection.ts";
import { type StreamKey, streamKey } from "../../../src/domain/identifier.ts";
import type { Bytes, Engine, Transaction } from "../../../src/kv/engine.ts";
import { keys } from "../../../src/store/keys.ts";
import {
  lastChangeStamp,
  noteRowChange,
  readRowChanges,
  trimRowChanges,
} from "../../../src/store/projections/row_changes.ts";
import {
  clearProjectionRow,
  decodeRow,
  encodeRow,
  listRowsOfSource,
  setProjectionRow,
  type SourceMark,
} from "../../../src/store/projections/projection_rows.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { readParsedRow, readParsedRows } from "../../support/parsed_rows.ts";

const PLACE: ProjectionPlace = { tenant: 3, number: 2, version: 5 };
const OTHER: ProjectionPlace = { ...PLACE, version: 6 };
const ADA = streamKey("customer", "7KD2M9QXA");
const BOB = streamKey("customer", "7KD2M9QXB");

function row(key: string, sources: readonly SourceMark[], text = "x") {
  return {
    key,
    position: 1,
    generation: 0,
    updatedAt: 5,
    sources,
    includes: [],
    dataJson: JSON.stringify({ text }),
  };
}

function put(tx: Transaction, key: string, sources: readonly SourceMark[], text?: string) {
  return readParsedRow(tx, PLACE, key).then((before) =>
    setProjectionRow(tx, PLACE, before, encodeRow(row(key, sources, text)))
  );
}

function shown(engine: Engine, stream: StreamKey): Promise<string[]> {
  return engine.snapshot((tx) => listRowsOfSource(tx, PLACE, stream, { limit: 10 }));
}

Deno.test("rows are listed in the order of their keys, each version by itself", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact(async (tx) => {
      for (const key of ["b", "a", "c"]) await put(tx, key, []);
      setProjectionRow(tx, OTHER, undefined, encodeRow(row("d", [])));
    });
    const page = (after: string | undefined, limit: number) =>
      engine.snapshot((tx) => readParsedRows(tx, PLACE, { after, limit, bytesMax: 1e9 }));
    assert.deepEqual((await page(undefined, 2)).map(({ key }) => key), ["a", "b"]);
    assert.deepEqual((await page("b", 2)).map(({ key }) => key), ["c"]);
    assert.deepEqual(await page("c", 2), []);
  });
});

Deno.test("a row above the engine's limit is kept whole, and gone whole", async () => {
  await withTemporaryEngine(async (engine) => {
    const text = "long ".repeat(100_000);
    await engine.transact((tx) => put(tx, "a", [], text));
    const stored = await engine.snapshot((tx) => readParsedRow(tx, PLACE, "a"));
    assert.deepEqual(stored?.data, { text });
    await engine.transact((tx) => put(tx, "a", [], "short"));
    const pieces = keys.pieces(3, keys.projectionRow(3, 2, 5, "a"));
    assert.deepEqual(await engine.snapshot((tx) => tx.getRange(pieces)), []);
    await engine.transact((tx) => put(tx, "a", [], text));
    await engine.transact(async (tx) => {
      clearProjectionRow(tx, PLACE, (await readParsedRow(tx, PLACE, "a"))!);
    });
    assert.deepEqual(await engine.snapshot((tx) => tx.getRange(keys.tenant(3))), []);
  });
});

Deno.test("the text of a row's data is cut out of it, whatever its names and texts are", () => {
  const name = fc.constantFrom("a", "data", "error", '"', "\\\\", ',"data":', ',"error":{', "]}");
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 4 },
      name,
      fc.string(),
      fc.integer(),
      fc.constantFrom(null, true),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(name, tie("any"), { maxKeys: 3 }),
    ),
  }));
  const data = fc.option(fc.dictionary(name, value.any, { maxKeys: 4 }));
  const failure = { error_id: "e", error_type: "t", message: 'm ,"error":{', since: 1 };
  const error = fc.constantFrom(undefined, { ...failure, tries: 1, nextTryMs: 5 });
  const sources: SourceMark[] = [[streamKey("customer", ',"data":{}'), 0, 1]];
  fc.assert(
    fc.property(data, error, (data, error) => {
      const made = { ...row("a", sources), dataJson: JSON.stringify(data), error };
      const { value } = encodeRow(made);
      const { updatedAt: updated_at, position, generation, includes } = made;
      const record = { position, generation, updated_at, sources, includes, data, error };
      assert.equal(new TextDecoder().decode(value), JSON.stringify(record));
      assert.deepEqual(decodeRow("a", value), { ...made, bytes: value.length });
    }),
    { numRuns: 500 },
  );
});

Deno.test("the index of sources follows what a row shows", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => put(tx, "a", [[ADA, 0, 1]]));
    await engine.transact((tx) => put(tx, "b", [[ADA, 0, 1], [BOB, 0, 0]]));
    assert.deepEqual([await shown(engine, ADA), await shown(engine, BOB)], [["a", "b"], ["b"]]);
    await engine.transact((tx) => put(tx, "b", [[BOB, 0, 4]]));
    assert.deepEqual([await shown(engine, ADA), await shown(engine, BOB)], [["a"], ["b"]]);
    await engine.transact(async (tx) => {
      clearProjectionRow(tx, PLACE, (await readParsedRow(tx, PLACE, "b"))!);
    });
    assert.deepEqual([await shown(engine, ADA), await shown(engine, BOB)], [["a"], []]);
  });
});

Deno.test("changes are told in the order of their commits, from any of them on", async () => {
  await withTemporaryEngine(async (engine) => {
    const note = (key: string, nowMs: number) =>
      engine.transact((tx) => Promise.resolve(noteRowChange(tx, PLACE, key, nowMs)));
    const changes = (after?: Bytes) => engine.snapshot((tx) => readRowChanges(tx, PLACE, after, 9));
    const last = () => engine.snapshot((tx) => lastChangeStamp(tx, PLACE));
    assert.equal(await last(), undefined);
    for (const [at, key] of ["b", "a", "b"].entries()) await note(key, at);
    const all = await changes();
    assert.deepEqual(all.changes.map(({ key }) => key), ["b", "a", "b"]);
    assert.equal(all.isLost, false);
    const { stamp } = all.changes[0]!;
    assert.deepEqual((await changes(stamp)).changes.map(({ key }) => key), ["a", "b"]);
    assert.deepEqual(await last(), all.changes[2]!.stamp);
  });
});

Deno.test("whoever asks for changes that have been removed is told so, and nobody else", async () => {
  await withTemporaryEngine(async (engine) => {
    const note = (key: string, nowMs: number) =>
      engine.transact((tx) => Promise.resolve(noteRowChange(tx, PLACE, key, nowMs)));
    const changes = (after?: Bytes) => engine.snapshot((tx) => readRowChanges(tx, PLACE, after, 9));
    for (const at of [0, 1, 2, 3]) await note(`row ${at}`, at);
    const stamps = (await changes()).changes.map(({ stamp }) => stamp);
    const trim = (untilMs: number) =>
      engine.transact((tx) => trimRowChanges(tx, PLACE, untilMs, 9));
    assert.equal(await trim(2), 2);
    assert.equal((await changes()).isLost, true, "who has nothing yet");
    assert.equal((await changes(stamps[0])).isLost, true);
    const seen = await changes(stamps[1]);
    assert.deepEqual([seen.isLost, seen.changes.map(({ key }) => key)], [false, [
      "row 2",
      "row 3",
    ]]);
    assert.equal(await trim(2), 0);
    assert.equal(await trim(9), 2);
    const last = await engine.snapshot((tx) => lastChangeStamp(tx, PLACE));
    assert.deepEqual(last, stamps[3], "a copy that is made now begins behind what is removed");
    assert.equal((await changes(last)).isLost, false);
  });
});
