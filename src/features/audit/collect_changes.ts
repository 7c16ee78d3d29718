/**
 * Collects the streams in which a new anchor's tree differs from the previous one. These are
 * all streams written since, as they were at the cut; for the first anchor, all streams there
 * are. No event is read, because each head contains the frontier of its stream.
 */

import { frontierRoot } from "../../domain/audit/frontier.ts";
import { leafHash, NODE_BYTES } from "../../domain/audit/chain.ts";
import type { TreeEntry } from "../../domain/audit/tree_blocks.ts";
import { TILE_NODES } from "../../domain/audit/tree_tiles.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Bytes, Engine } from "../../kv/engine.ts";
import {
  asAtCut,
  type ChangedStream,
  listChanged,
  readAtCut,
  type StreamAtCut,
} from "../../store/streams/audit_cuts.ts";
import { listHeads } from "../../store/streams/stream_walk.ts";
import { StreamRewritten } from "../../store/streams/stream_events.ts";
import { isGeneration } from "../../store/streams/streams.ts";
import { addTile, countTiles, readLeaves, type TiledStream } from "../../store/streams/tiles.ts";
import type { TreeChange } from "./build_tree.ts";
import type { Pace } from "./pace.ts";
import { TREE_READS } from "./write_chunks.ts";
import { TextMap, TextSet } from "../../domain/lookup/text_map.ts";

/** Changes that one snapshot looks at, each with two small reads. */
const PAGE = 250;

/** The cut, its environment, and what is needed to read it. */
export interface Cut {
  readonly engine: Engine;
  readonly pace: Pace;
  readonly tenant: number;
  readonly cut: number;
  /** The last epoch that the previous anchor covers. */
  readonly covered?: number;
}

/** A stream that may lack full tiles. */
export interface LongStream {
  readonly stream: TiledStream;
  readonly length: number;
}

export interface Collected {
  /** Sorted by key. */
  readonly changes: TreeChange[];
  readonly long: readonly LongStream[];
}

/** Streams that have changed since the newest anchor; their change marks tell. */
export async function collectChanges(place: Cut): Promise<Collected> {
  const { engine, pace, tenant, cut, covered } = place;
  const runs = openRuns();
  const seen = new TextSet();
  const long: LongStream[] = [];
  let after: Bytes | undefined;
  for (let count = PAGE; count === PAGE;) {
    // The body may run again, so its results are only used after it has ended.
    const { page, fresh, states } = await engine.snapshot(async (tx) => {
      const page = await listChanged(tx, tenant, cut, { covered, after, limit: PAGE });
      // If a stream changed in several epochs, its first mark is what the previous anchor has.
      const first = new TextMap(
        page.changed.toReversed().map((each) => [each.stream, each] as const),
      );
      const fresh = [...first.values()].filter(({ stream }) => !seen.has(stream));
      const states = fresh.map(({ stream }) => readAtCut(tx, tenant, stream, cut));
      return { page, fresh, states: await Promise.all(states) };
    });
    for (const [index, change] of fresh.entries()) {
      seen.add(change.stream);
      const entry = asEntry(place, change.stream, states[index]!, long);
      if (entry !== undefined) runs.add(asChange(entry, change));
    }
    after = page.last ?? after;
    count = page.changed.length;
    await pace();
  }
  return { changes: await runs.merge(pace), long };
}

/** Changes that are compared before others have a turn. */
const MERGED_MAX = 2_000;

/**
 * Changes in runs that are each in order of their keys. The marks of one epoch are nearly so, thus
 * there are few runs, and two at a time become one. A sort of all could not be paused.
 */
function openRuns() {
  let runs: TreeChange[][] = [];

  async function mergeTwo(a: TreeChange[], b: TreeChange[], pace: Pace): Promise<TreeChange[]> {
    const merged: TreeChange[] = [];
    for (let at = 0, bt = 0; at < a.length || bt < b.length;) {
      const isNextA = bt === b.length || (at < a.length && a[at]!.key < b[bt]!.key);
      merged.push(isNextA ? a[at++]! : b[bt++]!);
      if (merged.length % MERGED_MAX === 0) await pace();
    }
    return merged;
  }

  return {
    add(change: TreeChange): void {
      const run = runs.at(-1);
      if (run !== undefined && run.at(-1)!.key < change.key) run.push(change);
      else runs.push([change]);
    },
    async merge(pace: Pace): Promise<TreeChange[]> {
      while (runs.length > 1) {
        const longer: TreeChange[][] = [];
        for (let at = 0; at < runs.length; at += 2) {
          const [a, b] = [runs[at]!, runs[at + 1]];
          longer.push(b === undefined ? a : await mergeTwo(a, b, pace));
          if (at % MERGED_MAX === 0) await pace();
        }
        runs = longer;
      }
      return runs[0] ?? [];
    },
  };
}

function asChange(entry: TreeEntry, { before }: ChangedStream): TreeChange {
  return { ...entry, before: before.count === 0 ? undefined : before };
}

/** Every stream of the cut by key, in pages; long ones are added to `long`. */
export async function* collectStreams(
  place: Cut,
  long: LongStream[],
): AsyncGenerator<readonly TreeEntry[]> {
  for await (const page of inKeyOrder(pagesOfStreams(place))) {
    yield page.flatMap(({ key, state }) => asEntry(place, key, state, long) ?? []);
    await place.pace();
  }
}

interface KnownStream {
  readonly key: StreamKey;
  readonly state: StreamAtCut;
}

async function* pagesOfStreams({ engine, tenant, cut }: Cut): AsyncGenerator<KnownStream[]> {
  let after: StreamKey | undefined;
  do {
    const { last, page } = await engine.snapshot(async (tx) => {
      const { heads, last } = await listHeads(tx, tenant, after);
      const page: KnownStream[] = [];
      for (const each of heads) {
        page.push({ key: each.stream, state: await asAtCut(tx, tenant, each, cut) });
      }
      return { last, page };
    }, TREE_READS);
    yield page;
    after = last;
  } while (after !== undefined);
}

/** Characters that UTF-16 orders differently than UTF-8; some names of singletons have them. */
const ORDERED_OTHERWISE = /[\ud800-\uffff]/;

/** Puts streams from the store's order into the order of keys. Only those names change places. */
async function* inKeyOrder(
  pages: AsyncIterable<readonly KnownStream[]>,
): AsyncGenerator<KnownStream[]> {
  const held: KnownStream[] = [];
  const inOrder = () => held.splice(0).sort((a, b) => a.key < b.key ? -1 : 1);
  for await (const page of pages) {
    const ordered: KnownStream[] = [];
    for (const known of page) {
      if (ORDERED_OTHERWISE.test(known.key)) {
        held.push(known);
        continue;
      }
      if (held.length > 0) ordered.push(...inOrder());
      ordered.push(known);
    }
    yield ordered;
  }
  yield inOrder();
}

/** Undefined for a stream that did not exist at the cut. A long one is added to `long`. */
function asEntry(
  { tenant }: Cut,
  key: StreamKey,
  state: StreamAtCut,
  long: LongStream[],
): TreeEntry | undefined {
  const { count: length, generation } = state;
  if (length === 0) return undefined;
  if (length >= TILE_NODES) long.push({ stream: { tenant, key, generation }, length });
  return { key, length, leaf: leafHash(frontierRoot(state)) };
}

/**
 * Writes the full tiles that a long stream lacks, each in its own transaction.
 * @throws {StreamRewritten} if the stream has been rewritten since.
 */
export async function extendTiles(
  { engine, pace }: Pick<Cut, "engine" | "pace">,
  { stream, length }: LongStream,
): Promise<void> {
  const { tenant, key, generation } = stream;
  const full = Math.floor(length / TILE_NODES);
  let number = await engine.snapshot((tx) => countTiles(tx, stream));
  for (; number < full; number++) {
    const end = (number + 1) * TILE_NODES;
    const tile = new Uint8Array(TILE_NODES * NODE_BYTES);
    for (let bytes = 0; bytes < tile.length;) {
      const from = end - TILE_NODES + bytes / NODE_BYTES;
      const leaves = await engine.snapshot((tx) => readLeaves(tx, stream, from, end));
      tile.set(leaves, bytes);
      bytes += leaves.length;
      await pace();
    }
    await engine.transact(async (tx) => {
      if (!await isGeneration(tx, tenant, key, generation)) throw new StreamRewritten(key);
      await addTile(tx, stream, number, tile);
    });
  }
}
