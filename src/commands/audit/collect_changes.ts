/**
 * What an anchor's tree has that the one before had not: every stream written to since, as it was
 * at the cut. No event is read, for each head has the frontier of its stream.
 */

import { frontierRoot } from "../../domain/audit/frontier.ts";
import { leafHash } from "../../domain/audit/node_hash.ts";
import type { TreeEntry } from "../../domain/audit/tree_blocks.ts";
import { TILE_NODES } from "../../domain/audit/tree_tiles.ts";
import type { StreamKey } from "../../domain/stream_key.ts";
import type { Bytes, Engine } from "../../kv/engine.ts";
import { listStreams } from "../../store/aggregates.ts";
import { listChanged, readAtCut } from "../../store/audit_cuts.ts";
import { isGeneration, StreamRewritten } from "../../store/streams.ts";
import { addTile, countTiles, hashLeaves, type TiledStream } from "../../store/tiles.ts";
import type { Pace } from "./pace.ts";

/** Streams looked at in one snapshot, each with two small reads. */
const PAGE = 250;

export interface Collected {
  /** By key. */
  readonly changes: TreeEntry[];
  /** Streams with tiles that may be missing. */
  readonly long: readonly { readonly stream: TiledStream; readonly length: number }[];
}

/** `all`: before the first anchor nothing tells what has changed, so every stream is taken. */
export async function collectChanges(
  engine: Engine,
  pace: Pace,
  tenant: number,
  cut: number,
  all: boolean,
): Promise<Collected> {
  const changes = new Map<string, TreeEntry>();
  const long = new Map<string, { readonly stream: TiledStream; readonly length: number }>();
  let after: Bytes | undefined;
  let last: StreamKey | undefined;
  for (let count = PAGE; count === PAGE;) {
    count = await engine.snapshot(async (tx) => {
      const page = all
        ? { streams: await listStreams(tx, tenant, { after: last, limit: PAGE }), last: undefined }
        : await listChanged(tx, tenant, cut, { after, limit: PAGE });
      const { streams } = page;
      const states = await Promise.all(
        streams.map((key) => changes.has(key) ? undefined : readAtCut(tx, tenant, key, cut)),
      );
      for (const [index, key] of streams.entries()) {
        const state = states[index];
        // Not there at the cut, or seen before: it was changed in several epochs.
        if (state === undefined || state.count === 0) continue;
        const { count: length, generation } = state;
        changes.set(key, { key, length, leaf: leafHash(frontierRoot(state)) });
        if (length >= TILE_NODES) long.set(key, { stream: { tenant, key, generation }, length });
      }
      after = page.last ?? after;
      last = streams.at(-1) ?? last;
      return streams.length;
    });
    await pace();
  }
  const sorted = [...changes.values()].sort((a, b) => a.key < b.key ? -1 : 1);
  return { changes: sorted, long: [...long.values()] };
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
