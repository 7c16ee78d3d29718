/** Chunks are written while the next ones are built, and never after the end of their tree. */

import assert from "node:assert/strict";
import { type TreeBuild, writeChunks } from "../../../src/features/audit/write_chunks.ts";
import { leafHash } from "../../../src/domain/audit/chain.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import { type ChunkText, imageOf, readChunk } from "../../../src/store/audit/tree_chunks.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 1;
const LEAF = leafHash("ab".repeat(32));
/** Enough chunks to fill more than two transactions. */
const CHUNKS = 70;

function chunk(number: number): ChunkText {
  const name = String(number).padStart(9, "0");
  const entries = Array.from({ length: 224 }, (_, at) => (
    { key: `order:${name}-${String(at).padStart(64, "0")}`, length: 1, leaf: LEAF }
  ));
  return imageOf(name, 1, entries);
}

function buildOn(engine: Engine): TreeBuild {
  const nothing = () => Promise.resolve();
  return { engine, pace: nothing, tenant: TENANT, number: 1, guard: nothing };
}

/** An engine whose commits wait until they are released. */
function holdCommits(engine: Engine) {
  const waiting: (() => void)[] = [];
  let underWay = 0;
  const held = wrapEngine(engine, {
    async transact(body) {
      underWay++;
      await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await engine.transact(body);
      } finally {
        underWay--;
      }
    },
  });
  return { held, underWay: () => underWay, letGo: () => waiting.shift()?.() };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

Deno.test("writeChunks() keeps every chunk, and gives what was made of them", async () => {
  await withTemporaryEngine(async (engine) => {
    const result = await writeChunks(buildOn(engine), async (add) => {
      for (let number = 0; number < CHUNKS; number++) await add(chunk(number));
      return "a tree";
    });
    assert.equal(result, "a tree");
    for (let number = 0; number < CHUNKS; number++) {
      const { low } = chunk(number);
      const kept = await engine.snapshot((tx) => readChunk(tx, TENANT, low, 1));
      assert.equal(kept.entries.length, 224);
    }
  });
});

Deno.test("writeChunks() makes chunks while others are being written, one transaction at a time", async () => {
  await withTemporaryEngine(async (engine) => {
    const { held, underWay, letGo } = holdCommits(engine);
    let made = 0;
    const written = writeChunks(buildOn(held), async (add) => {
      for (; made < CHUNKS; made++) await add(chunk(made));
    });
    await turn();
    const madeBeside = made;
    assert.equal(underWay(), 1);
    assert.ok(madeBeside > 0 && madeBeside < CHUNKS, `${madeBeside}`);
    let isOver = false;
    written.finally(() => isOver = true);
    while (!isOver) {
      assert.ok(underWay() <= 1);
      letGo();
      await turn();
    }
    assert.equal(made, CHUNKS);
  });
});

Deno.test("writeChunks() leaves nothing under way when it fails", async () => {
  await withTemporaryEngine(async (engine) => {
    const { held, underWay, letGo } = holdCommits(engine);
    const written = writeChunks(buildOn(held), async (add) => {
      for (let number = 0; underWay() === 0; number++) await add(chunk(number));
      throw new Error("a cut that is void");
    });
    let isOver = false;
    written.catch(() => {}).finally(() => isOver = true);
    await turn();
    assert.deepEqual([underWay(), isOver], [1, false]);
    letGo();
    await assert.rejects(written, /a cut that is void/);
    assert.equal(underWay(), 0);
  });
});

Deno.test("writeChunks() tells of a chunk that could not be kept, and writes no more", async () => {
  await withTemporaryEngine(async (engine) => {
    let guards = 0;
    const guard = () => {
      guards++;
      return Promise.reject(new Error("another has taken over"));
    };
    let made = 0;
    const written = writeChunks({ ...buildOn(engine), guard }, async (add) => {
      for (; made < 10 * CHUNKS; made++) await add(chunk(made));
    });
    await assert.rejects(written, /another has taken over/);
    assert.equal(guards, 1);
    assert.ok(made < 10 * CHUNKS);
  });
});
