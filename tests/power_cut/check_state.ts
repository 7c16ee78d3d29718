/**
 * Opens what a power cut left and checks it against the story. Everything acknowledged is
 * there, no transaction is half there, the store continues from it, and its files are sound.
 */

import assert from "node:assert/strict";
import type { Bytes, Engine } from "../../src/kv/engine.ts";
import { checkPages } from "../../src/kv/sqlite/pages/page_check.ts";
import { checkSqliteFile } from "../../src/kv/sqlite/check_file.ts";
import { openSqliteEngine } from "../../src/kv/sqlite/engine.ts";
import { STORE, writeFiles } from "./record_disk.ts";
import { SMALL_SIZES, tell } from "./store_program.ts";
import { contentAfter, LAST } from "./story.ts";

const EVERYTHING = { begin: new Uint8Array(), end: Uint8Array.of(0xfe) };
const FURTHER = 3;

export interface Expected {
  readonly seed: number;
  /** The newest transaction that was acknowledged before the cut; 0 if none was. */
  readonly acknowledged: number;
  /** The newest transaction that was begun. */
  readonly begun: number;
}

/**
 * Returns how many transactions the store has.
 * @throws {AssertionError} if the store is not as it must be.
 */
export async function checkState(
  files: ReadonlyMap<string, Uint8Array>,
  { seed, acknowledged, begun }: Expected,
): Promise<number> {
  const folder = await Deno.makeTempDir({ dir: memoryFolder(), prefix: "daybook_state_" });
  try {
    writeFiles(folder, files);
    const path = `${folder}/${STORE}`;
    assert.deepEqual(checkPages(path).faults, [], "as the cut has left it");
    const count = await withEngine(path, async (engine) => {
      const found = await contentOf(engine);
      const there = Number(new Map(found).get(LAST) ?? 0);
      assert.ok(there >= acknowledged, `${acknowledged} were acknowledged, ${there} are there`);
      assert.ok(there <= begun, `${there} are there of ${begun}`);
      assert.deepEqual(found, contentAfter(seed, there), "half of a transaction");
      for (let number = there + 1; number <= there + FURTHER; number++) {
        await tell(engine, seed, number);
      }
      return there;
    });
    await withEngine(path, async (engine) => {
      assert.deepEqual(await contentOf(engine), contentAfter(seed, count + FURTHER));
    });
    assert.deepEqual(checkSqliteFile(path), []);
    assert.deepEqual(checkPages(path).faults, []);
    return count;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function withEngine<T>(path: string, body: (engine: Engine) => Promise<T>): Promise<T> {
  // On a busy machine a checkpoint pass may be slow; without waiting for it the close is not
  // clean.
  const engine = openSqliteEngine({ path, sizes: { ...SMALL_SIZES, passMsMax: 20_000 } });
  try {
    return await body(engine);
  } finally {
    await engine.close();
    assert.equal(engine.failure(), undefined);
  }
}

async function contentOf(engine: Engine): Promise<[string, string][]> {
  const pairs = await engine.snapshot((tx) => tx.getRange(EVERYTHING));
  const text = (part: Bytes) => new TextDecoder().decode(part);
  return pairs.map(({ key, value }) => [text(key), text(value)]);
}

/** Prefers a folder in memory, where syncs take no time: here only the resulting files matter. */
function memoryFolder(): string | undefined {
  try {
    return Deno.statSync("/dev/shm").isDirectory ? "/dev/shm" : undefined;
  } catch {
    return undefined;
  }
}
