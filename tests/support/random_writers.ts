/**
 * Writers that fill an embedded store at random, each with keys of its own and a model of them, and
 * a judge that compares a store with the models.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Bytes, DurableListener, Engine, KeyRange } from "../../src/kv/engine.ts";
import { openSqliteEngine } from "../../src/kv/sqlite/engine.ts";
import { pack, rangeOf } from "../../src/kv/tuple.ts";

/** So small that checkpoints never rest. */
export const SMALL_SIZES = {
  pagesWanted: 20,
  windowBytesAtFirst: 16_384,
  windowBytesMin: 8_192,
  windowBytesMax: 65_536,
  startFrames: 40,
  finishFrames: 10,
  slowFrames: 2_000,
  logFramesMax: 4_000,
};
const WRITERS = 4;
const KEYS = 400;

/** What a writer has made of its keys, after each of its transactions. */
export interface Writer {
  readonly number: number;
  readonly states: Map<number, number>[];
  /** When each transaction began and was acknowledged, in milliseconds since 1970. */
  readonly times: { readonly begunMs: number; readonly ackedMs: number }[];
  /** Transactions that were acknowledged. */
  acknowledged: number;
}

export interface Writing {
  readonly engine: Engine;
  readonly writers: readonly Writer[];
}

export interface World extends Writing {
  readonly folder: string;
  readonly path: string;
}

export async function withWriters(
  body: (world: World) => Promise<void>,
  onDurable?: DurableListener,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_backup_" });
  const path = join(folder, "store.sqlite");
  const engine = openSqliteEngine({ path, sizes: SMALL_SIZES, onDurable });
  try {
    await body({ folder, path, engine, writers: newWriters() });
  } finally {
    await engine.close();
    await Deno.remove(folder, { recursive: true });
  }
}

export function newWriters(): Writer[] {
  return Array.from({ length: WRITERS }, (_, number) => ({
    number,
    states: [new Map<number, number>()],
    times: [],
    acknowledged: 0,
  }));
}

/** A random value of random size, from a seed that its model keeps. */
function valueOf(seed: number): Bytes {
  const value = new Uint8Array(10 + (seed * 7919) % 3_000);
  new DataView(value.buffer).setUint32(0, seed);
  return value.fill(seed & 0xff, 4);
}

/** One transaction: sets some keys, clears one, sometimes a range, logs itself, and counts. */
async function writeOnce(engine: Engine, writer: Writer, random: () => number): Promise<void> {
  const { number, states, times } = writer;
  const begunMs = Date.now();
  const state = new Map(states.at(-1));
  const cleared = Math.floor(random() * KEYS);
  const isRange = random() < 0.05;
  const sets = Array.from({ length: 6 }, () =>
    [
      Math.floor(random() * KEYS),
      Math.floor(random() * 0x7fffffff),
    ] as const);
  if (isRange) { for (let key = cleared; key < cleared + 20; key++) state.delete(key); }
  else state.delete(cleared);
  for (const [key, seed] of sets) state.set(key, seed);
  await engine.transact((tx) => {
    if (isRange) {
      tx.clearRange({
        begin: pack(["data", number, cleared]),
        end: pack(["data", number, cleared + 20]),
      });
    } else tx.clear(pack(["data", number, cleared]));
    for (const [key, seed] of sets) tx.set(pack(["data", number, key]), valueOf(seed));
    tx.set(pack(["done", number]), pack([states.length]));
    tx.setStamped(pack(["log", number]), new Uint8Array(), pack([states.length]));
    tx.add(pack(["all"]), 1n);
    return Promise.resolve();
  });
  states.push(state);
  times.push({ begunMs, ackedMs: Date.now() });
  writer.acknowledged = states.length - 1;
}

/** Writes until `end` is called. */
export function keepWriting(
  { engine, writers }: Writing,
  pauseMs?: number,
): { end(): Promise<void> } {
  let isOver = false;
  const running = writers.map(async (writer) => {
    while (!isOver) {
      await writeOnce(engine, writer, Math.random);
      if (pauseMs !== undefined) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  });
  return {
    async end() {
      isOver = true;
      await Promise.all(running);
    },
  };
}

export async function writeSome({ engine, writers }: Writing, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await Promise.all(writers.map((writer) => writeOnce(engine, writer, Math.random)));
  }
}

/** Compares a store with what its writers had done by then. Returns how much that is for each. */
export async function judge(engine: Engine, writers: readonly Writer[]): Promise<number[]> {
  return await engine.snapshot(async (tx) => {
    const counts: number[] = [];
    for (const { number, states } of writers) {
      const done = await tx.get(pack(["done", number]));
      const count = done === undefined ? 0 : states.findIndex((_, at) => isSame(pack([at]), done));
      counts.push(count);
      const pairs = await tx.getRange(rangeOf(["data", number]));
      const expected = [...states[count]!].sort(([a], [b]) => a - b)
        .map(([key, seed]) => ({ key: pack(["data", number, key]), value: valueOf(seed) }));
      assert.deepEqual(pairs.map(({ key }) => key), expected.map(({ key }) => key));
      for (const [at, { value }] of pairs.entries()) {
        assert.ok(isSame(value, expected[at]!.value), `writer ${number} after ${count}`);
      }
      // Each commit once, in their order.
      const log = await tx.getRange(stampedRange(pack(["log", number])));
      assert.deepEqual(
        log.map(({ value }) => value),
        Array.from({ length: count }, (_, at) => pack([at + 1])),
      );
    }
    const all = await tx.get(pack(["all"]));
    const sum = all === undefined ? 0 : Number(new DataView(all.buffer, all.byteOffset)
      .getBigInt64(0, true));
    assert.equal(sum, counts.reduce((total, count) => total + count, 0), "one moment for all");
    return counts;
  });
}

function stampedRange(prefix: Bytes): KeyRange {
  return { begin: prefix, end: Uint8Array.of(...prefix, 0xff) };
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}
