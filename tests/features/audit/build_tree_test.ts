/** Instance trees built from the previous tree, compared with one tree over all streams. */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import fc from "fast-check";
import { buildFirstTree, buildTree } from "../../../src/features/audit/build_tree.ts";
import type { TreeMemory } from "../../../src/features/audit/tree_memory.ts";
import {
  EMPTY_FRONTIER,
  extendFrontier,
  type Frontier,
  frontierRoot,
} from "../../../src/domain/audit/frontier.ts";
import { merkleRoot, proofRoot } from "../../../src/domain/audit/merkle.ts";
import { leafHash } from "../../../src/domain/audit/chain.ts";
import {
  blockWith,
  packBlocks,
  packLeaves,
  type TreeBlock,
} from "../../../src/domain/audit/tree_blocks.ts";
import { BLOCK_LEAVES, proveInBlock } from "../../../src/domain/audit/tree_rows.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { findChunks, publishChunk, readChunk } from "../../../src/store/audit/tree_chunks.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 1;

/** Streams by key, each with the tree over its events. */
type Model = ReadonlyMap<string, Frontier>;

function keyOf(number: number): string {
  // The keys are in another order than the numbers.
  return `order:${hash("sha256", String(number), "hex").slice(0, 12)}`;
}

function sortedKeys(model: Model): string[] {
  return [...model.keys()].sort();
}

interface TreeChange {
  readonly number: number;
  readonly blocks: readonly TreeBlock[];
  readonly before: Model;
  readonly changed: readonly number[];
  readonly memory?: TreeMemory;
}

/** Builds the next tree, with one more event in each of the changed streams. */
function build(
  engine: Engine,
  { number, blocks, before, changed, memory }: TreeChange,
) {
  return buildNamed(engine, { number, blocks, before, changed: changed.map(keyOf), memory });
}

interface NamedTreeChange {
  readonly number: number;
  readonly blocks: readonly TreeBlock[];
  readonly before: Model;
  readonly changed: readonly string[];
  readonly memory?: TreeMemory;
}

async function buildNamed(
  engine: Engine,
  { number, blocks, before, changed, memory }: NamedTreeChange,
) {
  const model = new Map(before);
  for (const key of changed) {
    const frontier = model.get(key) ?? EMPTY_FRONTIER;
    const event = hash("sha256", `${key}/${frontier.count}`, "hex");
    model.set(key, extendFrontier(frontier, event));
  }
  const names = [...new Set(changed)].sort();
  const changes = names.map((key) => {
    const frontier = model.get(key)!;
    const leaf = leafHash(frontierRoot(frontier));
    return { key, length: frontier.count, leaf, before: before.get(key) };
  });
  const guard = () => Promise.resolve();
  const place = { engine, pace: () => Promise.resolve(), tenant: TENANT, number, guard };
  const tree = number === 1
    ? await buildFirstTree(place, [changes])
    : await buildTree({ ...place, blocks, changes, memory });
  return { model, tree };
}

function publish(engine: Engine, number: number, lows: readonly string[]): Promise<void> {
  return engine.transact((tx) => {
    for (const low of lows) publishChunk(tx, TENANT, low, number);
    return Promise.resolve();
  });
}

function rootOf(model: Model): string {
  return merkleRoot(sortedKeys(model).map((key) => frontierRoot(model.get(key)!)));
}

interface ProvenStream {
  readonly number: number;
  readonly blocks: readonly TreeBlock[];
  readonly model: Model;
  readonly key: string;
}

/** Proves the stream from what the anchor stored, as a bundle does. */
async function rootOfProof(
  engine: Engine,
  { number, blocks, model, key }: ProvenStream,
) {
  const at = blockWith(blocks, key);
  const { first } = blocks[at]!;
  const next = blocks[at + 1]?.first;
  const entries = await engine.snapshot(async (tx) => {
    const lows = await findChunks(tx, TENANT, { anchor: number, from: first, to: next });
    const chunks = await Promise.all(lows.map((low) => readChunk(tx, TENANT, low, number)));
    return chunks.flatMap((chunk) => chunk.entries);
  });
  const block = entries.filter((entry) => entry.key >= first && (!next || entry.key < next));
  const place = block.findIndex((entry) => entry.key === key);
  assert.equal(block[place]!.length, model.get(key)!.count);
  const index = at * BLOCK_LEAVES + place;
  assert.equal(index, sortedKeys(model).indexOf(key));
  const proof = proveInBlock(index, packLeaves(block), packBlocks(blocks));
  return proofRoot(frontierRoot(model.get(key)!), proof);
}

const SIZES = [1, 2, 447, 448, 449, 1023, 1024, 1025, 2048, 2300];

Deno.test("buildFirstTree() gives the root over all streams, for sizes around those of chunks and blocks", async () => {
  for (const size of SIZES) {
    await withTemporaryEngine(async (engine) => {
      const all = Array.from({ length: size }, (_, number) => number);
      const { model, tree } = await build(engine, {
        number: 1,
        blocks: [],
        before: new Map(),
        changed: all,
      });
      assert.equal(tree.root, rootOf(model));
      assert.deepEqual([tree.newStreams, tree.newEvents], [size, size]);
    });
  }
});

Deno.test("every tree of any history is that over all its streams, and proves them later too", async () => {
  const round = fc.array(fc.nat(3000), { minLength: 1, maxLength: 700 });
  const history = fc.array(round, { minLength: 2, maxLength: 9 });
  await fc.assert(
    fc.asyncProperty(history, fc.boolean(), fc.boolean(), async (rounds, dies, remembers) => {
      await withTemporaryEngine(async (engine) => {
        const kept: { number: number; model: Model; blocks: readonly TreeBlock[]; root: string }[] =
          [];
        let model: Model = new Map();
        let blocks: readonly TreeBlock[] = [];
        let memory: TreeMemory | undefined;
        for (const [at, changed] of rounds.entries()) {
          const number = at + 1;
          // An attempt that dies before it publishes; the next one has its changes and more.
          if (dies) {
            await build(engine, { number, blocks, before: model, changed: changed.slice(0, 300) });
          }
          const built = await build(engine, { number, blocks, before: model, changed, memory });
          memory = remembers ? built.tree.memory : undefined;
          await publish(engine, number, built.tree.newChunks);
          ({ model } = built);
          ({ blocks } = built.tree);
          assert.equal(built.tree.root, rootOf(model));
          kept.push({ number, model, blocks, root: built.tree.root });
        }
        for (const { number, model, blocks, root } of kept) {
          const names = sortedKeys(model);
          for (const key of [names[0]!, names[names.length >> 1]!, names.at(-1)!]) {
            assert.equal(await rootOfProof(engine, { number, blocks, model, key }), root);
          }
        }
      });
    }),
    { numRuns: 12 },
  );
});

Deno.test("a hot stream costs its own entry for each anchor, not its chunk", async () => {
  await withTemporaryEngine(async (engine) => {
    const all = Array.from({ length: 400 }, (_, number) => number);
    let { model, tree } = await build(engine, {
      number: 1,
      blocks: [],
      before: new Map(),
      changed: all,
    });
    await publish(engine, 1, tree.newChunks);
    const sizes: number[] = [];
    for (let number = 2; number < 12; number++) {
      ({ model, tree } = await build(engine, {
        number,
        blocks: tree.blocks,
        before: model,
        changed: [7],
      }));
      const written = await engine.snapshot((tx) => readChunk(tx, TENANT, "", number));
      sizes.push(written.weight);
      assert.equal(written.image, 1);
    }
    assert.ok(sizes.every((size, at) => size < 150 * (at + 1)), sizes.join());
  });
});

/** Counts the bytes that are read through it. */
function countingEngine(engine: Engine): { readonly engine: Engine; readonly bytes: () => number } {
  let bytes = 0;
  const counting: Engine = wrapEngine(engine, {
    snapshot: (body) =>
      engine.snapshot((tx) =>
        body({
          get: (key) => tx.get(key),
          readVersion: () => tx.readVersion(),
          async getRange(range, options) {
            const pairs = await tx.getRange(range, options);
            for (const { value } of pairs) bytes += value.length;
            return pairs;
          },
        })
      ),
  });
  return { engine: counting, bytes: () => bytes };
}

Deno.test("with the memory of the tree before, what has not changed is not read", async () => {
  await withTemporaryEngine(async (inner) => {
    const { engine, bytes } = countingEngine(inner);
    const all = Array.from({ length: 3_000 }, (_, number) => number);
    let { model, tree } = await build(engine, {
      number: 1,
      blocks: [],
      before: new Map(),
      changed: all,
    });
    await publish(engine, 1, tree.newChunks);
    assert.equal(bytes(), 0);
    for (let number = 2; number < 8; number++) {
      const changed = [7, 70, 700].map((each) => each + number);
      ({ model, tree } = await build(engine, {
        number,
        blocks: tree.blocks,
        before: model,
        changed,
        memory: tree.memory,
      }));
      assert.equal(tree.root, rootOf(model));
    }
    assert.equal(bytes(), 0);
    ({ model, tree } = await build(engine, {
      number: 8,
      blocks: tree.blocks,
      before: model,
      changed: [7],
    }));
    assert.equal(tree.root, rootOf(model));
    assert.ok(bytes() > 10_000, "without it the chunks are");
  });
});

Deno.test("streams whose names the store has in another order are found in their chunks", async () => {
  const names = Array.from({ length: 1_500 }, (_, number) => {
    const high = ["\u{10000}", "\u{1f600}", "\ue000", "\uff00", "z"][number % 5]!;
    return `order:${high}${String(number).padStart(4, "0")}`;
  });
  await withTemporaryEngine(async (engine) => {
    let [model, blocks]: [Model, readonly TreeBlock[]] = [new Map(), []];
    for (const [number, from] of [[1, 0], [2, 1]] as const) {
      const changed = names.filter((_, at) => at % 2 === from);
      const built = await buildNamed(engine, { number, blocks, before: model, changed });
      await publish(engine, number, built.tree.newChunks);
      ({ model } = built);
      ({ blocks } = built.tree);
      const root = rootOf(model);
      assert.equal(built.tree.root, root);
      for (const key of changed) {
        assert.equal(await rootOfProof(engine, { number, blocks, model, key }), root, key);
      }
    }
  });
});

/** Everything stored after several anchors, each of which changes some of a few streams. */
async function storedAfter(rounds: readonly (readonly number[])[], remembers: boolean) {
  return await withTemporaryEngine(async (engine) => {
    let [model, blocks]: [Model, readonly TreeBlock[]] = [new Map(), []];
    let memory: TreeMemory | undefined;
    for (const [at, changed] of rounds.entries()) {
      const built = await build(engine, { number: at + 1, blocks, before: model, changed, memory });
      memory = remembers ? built.tree.memory : undefined;
      await publish(engine, at + 1, built.tree.newChunks);
      ({ model } = built);
      ({ blocks } = built.tree);
    }
    const all = { begin: new Uint8Array([0]), end: new Uint8Array([0xff]) };
    const pairs = await engine.snapshot((tx) => tx.getRange(all));
    return pairs.map(({ key, value }) => `${key.toHex()} ${value.toHex()}`);
  });
}

Deno.test("what a process remembers changes nothing of what it stores", async () => {
  // Few streams that change often, so that the changes soon grow as large as the whole.
  const round = fc.array(fc.nat(8), { minLength: 1, maxLength: 30 });
  const rounds = fc.array(round, { minLength: 5, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(rounds, async (rounds) => {
      assert.deepEqual(await storedAfter(rounds, true), await storedAfter(rounds, false));
    }),
    { numRuns: 30 },
  );
});

Deno.test("a memory that lacks what a stream was is not believed", async () => {
  await withTemporaryEngine(async (engine) => {
    const all = Array.from({ length: 1_500 }, (_, number) => number);
    const first = await build(engine, { number: 1, blocks: [], before: new Map(), changed: all });
    await publish(engine, 1, first.tree.newChunks);
    for (const { rows } of first.tree.memory.blocks.map((block) => block!)) rows[0]!.fill(7);
    const { memory } = first.tree;
    const next = await build(engine, {
      number: 2,
      blocks: first.tree.blocks,
      before: first.model,
      changed: [3, 4, 5],
      memory,
    });
    assert.equal(next.tree.root, rootOf(next.model));
  });
});

for (const remembers of [false, true]) {
  Deno.test(`streams that come between all others split chunks everywhere (remembered: ${remembers})`, async () => {
    await withTemporaryEngine(async (engine) => {
      const numbers = (from: number, count: number) =>
        Array.from({ length: count }, (_, at) => from + at);
      let { model, tree } = await build(engine, {
        number: 1,
        blocks: [],
        before: new Map(),
        changed: numbers(0, 1_500),
      });
      await publish(engine, 1, tree.newChunks);
      let split = 0;
      for (let number = 2; number <= 6; number++) {
        const fresh = numbers(1_500 + (number - 2) * 500, 500);
        // Every second build has no new streams, so the memory of the old ones matters.
        for (const changed of [fresh, numbers(number * 100, 50)]) {
          const at = 2 * number - (changed === fresh ? 2 : 1);
          const memory = remembers ? tree.memory : undefined;
          ({ model, tree } = await build(engine, {
            number: at,
            blocks: tree.blocks,
            before: model,
            changed,
            memory,
          }));
          await publish(engine, at, tree.newChunks);
          split += tree.newChunks.length;
          assert.equal(tree.root, rootOf(model), `anchor ${at}`);
        }
      }
      assert.ok(split > 5, `${split} chunks were split off`);
    });
  });
}

Deno.test("a chunk is written whole again when its changes have grown as large as itself", async () => {
  await withTemporaryEngine(async (engine) => {
    const all = Array.from({ length: 10 }, (_, number) => number);
    let { model, tree } = await build(engine, {
      number: 1,
      blocks: [],
      before: new Map(),
      changed: all,
    });
    await publish(engine, 1, tree.newChunks);
    const images = new Set<number>();
    for (let number = 2; number < 40; number++) {
      ({ model, tree } = await build(engine, {
        number,
        blocks: tree.blocks,
        before: model,
        changed: [7],
        memory: tree.memory,
      }));
      const { image, weight, entries } = await engine.snapshot((tx) =>
        readChunk(tx, TENANT, "", number)
      );
      images.add(image);
      assert.ok(weight < 10 * 100, `${weight} bytes of changes`);
      assert.equal(entries.length, 10);
    }
    assert.ok(images.size > 2 && images.size < 10, `${images.size} images`);
  });
});

Deno.test("buildFirstTree() is the tree over its pages, and keeps all of them in chunks", async () => {
  for (const [count, pageSize] of [[1, 1], [224, 10], [225, 224], [1_024, 250], [2_300, 1_025]]) {
    const roots = Array.from({ length: count! }, (_, at) => hash("sha256", `${at}`, "hex"));
    const entries = roots.map((root, at) => (
      { key: `order:${String(at).padStart(9, "0")}`, length: at + 1, leaf: leafHash(root) }
    ));
    const pages = Array.from(
      { length: Math.ceil(count! / pageSize!) },
      (_, at) => entries.slice(at * pageSize!, (at + 1) * pageSize!),
    );
    await withTemporaryEngine(async (engine) => {
      const pace = () => Promise.resolve();
      const build = { engine, pace, tenant: TENANT, number: 1, guard: () => Promise.resolve() };
      const tree = await buildFirstTree(build, [[], ...pages, []]);
      assert.equal(tree.root, merkleRoot(roots));
      assert.deepEqual([tree.newStreams, tree.newEvents], [count, count! * (count! + 1) / 2]);
      await engine.transact((tx) => {
        for (const low of tree.newChunks) publishChunk(tx, TENANT, low, 1);
        return Promise.resolve();
      });
      const kept = await engine.snapshot(async (tx) => {
        const lows = await findChunks(tx, TENANT, { anchor: 1, from: "", to: undefined });
        return await Promise.all(lows.map((low) => readChunk(tx, TENANT, low, 1)));
      });
      assert.deepEqual(kept.flatMap((chunk) => chunk.entries), entries);
    });
  }
});
