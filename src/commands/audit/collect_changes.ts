/**
 * What an anchor's tree has that the one before had not: every stream written to since, as it was
 * at the cut; before the first one every stream there is. No event is read, for each head has the
 * frontier of its stream.
 */

import { frontierRoot } from "../../domain/audit/frontier.ts";
import { leafHash } from "../../domain/audit/node_hash.ts";
import type { TreeEntry } from "../../domain/audit/tree_blocks.ts";
import { TILE_NODES } from "../../domain/audit/tree_tiles.ts";
import type { StreamKey } from "../../domain/stream_key.ts";
import type { Bytes, Engine } from "../../kv/engine.ts";
import {
  asAtCut,
  type ChangedStream,
  listChanged,
  readAtCut,
  type StreamAtCut,
} from "../../store/audit_cuts.ts";
import { listHeads } from "../../store/head_pages.ts";
import { StreamRewritten } from "../../store/stream_events.ts";
import { isGeneration } from "../../store/streams.ts";
import { addTile, countTiles, hashLeaves, type TiledStream } from "../../store/tiles.ts";
import type { TreeChange } from "./build_tree.ts";
import type { Pace } from "./pace.ts";
import { TREE_READS } from "./write_chunks.ts";

/** Changes looked at in one snapshot, each with two small reads. */
const PAGE = 250;

/** Of which cut of which environment. */
export interface Cut {
  readonly engine: Engine;
  readonly pace: Pace;
  readonly tenant: number;
  readonly cut: number;
}

/** A stream with tiles that may be missing. */
export interface LongStream {
  readonly stream: TiledStream;
  readonly length: number;
}

export interface Collected {
  /** By key. */
  readonly changes: TreeChange[];
  readonly long: readonly LongStream[];
}

/** Streams that were changed since the newest anchor, whose marks are gone. */
export async function collectChanges(place: Cut): Promise<Collected> {
  const { engine, pace, tenant, cut } = place;
  const changes: TreeChange[] = [];
  const seen = new Set<StreamKey>();
  const long: LongStream[] = [];
  let after: Bytes | undefined;
  for (let count = PAGE; count === PAGE;) {
    // Its body may run again, so what it finds is taken over behind it.
    const { page, fresh, states } = await engine.snapshot(async (tx) => {
      const page = await listChanged(tx, tenant, cut, { after, limit: PAGE });
      // Of one that was changed in several epochs, the first mark is what the anchor before has.
      const first = new Map(page.changed.toReversed().map((each) => [each.stream, each]));
      const fresh = [...first.values()].filter(({ stream }) => !seen.has(stream));
      const states = fresh.map(({ stream }) => readAtCut(tx, tenant, stream, cut));
      return { page, fresh, states: await Promise.all(states) };
    });
    for (const [index, change] of fresh.entries()) {
      seen.add(change.stream);
      const entry = asEntry(place, change.stream, states[index]!, long);
      if (entry !== undefined) changes.push(asChange(entry, change));
    }
    after = page.last ?? after;
    count = page.changed.length;
    await pace();
  }
  return { changes: changes.sort((a, b) => a.key < b.key ? -1 : 1), long };
}

function asChange(entry: TreeEntry, { before }: ChangedStream): TreeChange {
  return { ...entry, before: before.count === 0 ? undefined : before };
}

/** Every stream of the cut by key, in pages; long ones are put into `long`. */
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
      for (const { stream: key, head } of heads) {
        page.push({ key, state: await asAtCut(tx, tenant, key, head, cut) });
      }
      return { last, page };
    }, TREE_READS);
    yield page;
    after = last;
  } while (after !== undefined);
}

/** Characters that UTF-16 has in another order than UTF-8: some names of singletons have them. */
const ORDERED_OTHERWISE = /[\ud800-\uffff]/;

/** Streams in the order of the store, put into that of keys: only such names change places. */
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

/** Undefined for a stream that was not there; a long one is put into `long`. */
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
 * Writes the full tiles that a stream of `length` events lacks, one in each transaction.
 * @throws {StreamRewritten} when the stream is another one by now.
 */
export async function extendTiles(
  engine: Engine,
  stream: TiledStream,
  length: number,
): Promise<void> {
  const { tenant, key, generation } = stream;
  const full = Math.floor(length / TILE_NODES);
  let number = await engine.snapshot((tx) => countTiles(tx, stream));
  for (; number < full; number++) {
    const from = number * TILE_NODES;
    const leaves = await engine.snapshot((tx) => hashLeaves(tx, stream, from, from + TILE_NODES));
    await engine.transact(async (tx) => {
      if (!await isGeneration(tx, tenant, key, generation)) throw new StreamRewritten(key);
      await addTile(tx, stream, number, leaves);
    });
  }
}
