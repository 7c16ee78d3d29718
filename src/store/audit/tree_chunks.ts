/**
 * The leaves of all instance trees of an environment, shared by its anchors. Streams are kept by
 * key in chunks of a few hundred. Each chunk is stored as images and, between them, as what
 * single anchors have changed. A stream inserted between others moves those behind it in the
 * tree, but not in here; a changed stream costs its own entry, twice at most; and a chunk as of
 * any anchor costs at most two images to read.
 */

import { assert } from "../../domain/assert.ts";
import { mergeEntries, type TreeEntry } from "../../domain/audit/tree_blocks.ts";
import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { keyAfter, keys } from "../keys.ts";

type Ranges = Pick<ReadTransaction, "getRange">;

/** Length of a leaf, which is a hash in hex. */
const LEAF_CHARACTERS = 64;

/**
 * A chunk of more streams is cut into pieces of half as many. At this size even the longest keys
 * fit a value.
 */
export const CHUNK_STREAMS_MAX = 448;
/** Streams in each piece of a chunk that was too long, and in each chunk of a first tree. */
export const CHUNK_STREAMS_SPLIT = CHUNK_STREAMS_MAX / 2;

export interface Chunk {
  /** By key. */
  readonly entries: readonly TreeEntry[];
  /** The anchor whose image it was read from; 0 if the chunk is not there yet. */
  readonly image: number;
  /** Bytes of all changes since that image. */
  readonly weight: number;
}

export const NO_CHUNK: Chunk = { entries: [], image: 0, weight: 0 };

/** The chunk that begins with `low`, as of the anchor. */
export async function readChunk(
  tx: Ranges,
  tenant: number,
  low: string,
  anchor: number,
): Promise<Chunk> {
  const { begin } = keys.allChunkLeaves(tenant, low);
  const end = keyAfter(keys.chunkLeaves(tenant, low, anchor));
  const [newest] = await tx.getRange({ begin, end }, { limit: 1, reverse: true });
  if (newest === undefined) return NO_CHUNK;
  const { image, weight } = decode(newest.value);
  assert(
    weight > 0 || image === unpack(newest.key).at(-1),
    "an image is that of the anchor it stands under",
  );
  const rest = { begin: keys.chunkLeaves(tenant, low, image), end: keyAfter(newest.key) };
  let entries: readonly TreeEntry[] = [];
  let weighed = 0;
  for (const [at, { value }] of (weight === 0 ? [newest] : await tx.getRange(rest)).entries()) {
    const part = decode(value);
    if (at > 0) weighed += part.bytes;
    assert(part.image === image && part.weight === weighed, "changes follow their image");
    entries = at === 0 ? part.entries : mergeEntries(entries, part.entries);
  }
  return { entries, image, weight };
}

/** What a writer must know of a chunk, without its streams. */
export interface ChunkShape {
  readonly image: number;
  readonly weight: number;
  readonly streams: number;
  /** Approximate size of an image of it, in bytes. */
  readonly bytes: number;
}

export function shapeOf({ entries, image, weight }: Chunk): ChunkShape {
  const bytes = entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
  return { image, weight, streams: entries.length, bytes };
}

/** One chunk as it is written: whole, or an anchor's changes to it. */
export interface ChunkText {
  readonly low: string;
  readonly value: Bytes;
  /** The shape of the chunk from then on. */
  readonly shape: ChunkShape;
}

/** The text of a whole chunk. */
export function imageOf(low: string, anchor: number, entries: readonly TreeEntry[]): ChunkText {
  assert(entries.length <= CHUNK_STREAMS_MAX, "a chunk fits a value");
  const value = encoder.encode(`${anchor} 0\n${linesOf(entries)}`);
  return { low, value, shape: shapeOf({ entries, image: anchor, weight: 0 }) };
}

/**
 * The whole chunk, in pieces of half the maximum if it has more than that; the first keeps
 * `low`.
 */
export function* imagesOf(
  low: string,
  anchor: number,
  entries: readonly TreeEntry[],
): Generator<{ readonly text: ChunkText; readonly entries: readonly TreeEntry[] }> {
  const size = entries.length <= CHUNK_STREAMS_MAX ? CHUNK_STREAMS_MAX : CHUNK_STREAMS_SPLIT;
  for (let from = 0; from < entries.length; from += size) {
    const piece = entries.slice(from, from + size);
    yield { text: imageOf(from === 0 ? low : piece[0]!.key, anchor, piece), entries: piece };
  }
}

/**
 * The changes to a chunk of that shape, as they are stored. Undefined if the chunk must be
 * written whole, because its changes have grown as large as itself, or it has become too long.
 */
export function changeOf(
  low: string,
  before: ChunkShape,
  changes: readonly (TreeEntry & { readonly before: unknown })[],
): ChunkText | undefined {
  const fresh = changes.filter((change) => change.before === undefined);
  const streams = before.streams + fresh.length;
  if (streams > CHUNK_STREAMS_MAX) return undefined;
  const lines = encoder.encode(linesOf(changes));
  const weight = before.weight + lines.length;
  const bytes = before.bytes + fresh.reduce((sum, entry) => sum + entryBytes(entry), 0);
  if (weight >= bytes) return undefined;
  const header = encoder.encode(`${before.image} ${weight}\n`);
  const value = new Uint8Array(header.length + lines.length);
  value.set(header);
  value.set(lines, header.length);
  return { low, value, shape: { image: before.image, weight, streams, bytes } };
}

/** Approximate size of an entry in an image, in bytes. */
function entryBytes({ key }: TreeEntry): number {
  return key.length + ENTRY_BYTES;
}

export function storeChunk(tx: Transaction, tenant: number, anchor: number, chunk: ChunkText) {
  tx.set(keys.chunkLeaves(tenant, chunk.low, anchor), chunk.value);
}

/** From this anchor on, readers find the chunk. */
export function publishChunk(tx: Transaction, tenant: number, low: string, anchor: number): void {
  tx.set(keys.chunk(tenant, low), numberValue(anchor));
}

/** All chunks by their first keys, the first of which is "", with the anchors that made them. */
export async function listChunks(
  tx: Ranges,
  tenant: number,
): Promise<{ readonly low: string; readonly anchor: number }[]> {
  const pairs = await tx.getRange(keys.chunks(tenant));
  return pairs.map(({ key, value }) => ({
    low: keys.chunkLow(key),
    anchor: valueNumber(value),
  }));
}

/** Chunks looked at together while searching for one that an anchor knows. */
const SEARCH_PAGE = 16;

export interface ChunkSpan {
  readonly anchor: number;
  readonly from: string;
  readonly to: string | undefined;
}

/** The chunks, as of the anchor, that hold the keys from `from` up to but not including `to`. */
export async function findChunks(
  tx: Ranges,
  tenant: number,
  { anchor, from, to }: ChunkSpan,
): Promise<string[]> {
  const all = keys.chunks(tenant);
  let end = keyAfter(keys.chunk(tenant, from));
  const lows: string[] = [];
  while (lows.length === 0) {
    const options = { limit: SEARCH_PAGE, reverse: true };
    const page = await tx.getRange({ begin: all.begin, end }, options);
    if (page.length === 0) return [];
    const known = page.find(({ value }) => valueNumber(value) <= anchor);
    if (known !== undefined) lows.push(keys.chunkLow(known.key));
    end = page.at(-1)!.key;
  }
  const range = {
    begin: keyAfter(keys.chunk(tenant, from)),
    end: to === undefined ? all.end : keys.chunk(tenant, to),
  };
  for (const { key, value } of await tx.getRange(range)) {
    if (valueNumber(value) <= anchor) lows.push(keys.chunkLow(key));
  }
  return lows;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The leaf, the length of a short stream, and what separates and ends them. */
const ENTRY_BYTES = LEAF_CHARACTERS + 4;

function linesOf(entries: readonly TreeEntry[]): string {
  return entries.map(({ key, length, leaf }) => `${leaf} ${length} ${key}`).join("\n");
}

/** A stored value of a chunk; `bytes` are those of its entries. */
interface ChunkPart extends Chunk {
  readonly bytes: number;
}

/** First line: number of the image, bytes of the changes since. Then a line for each stream. */
function decode(value: Bytes): ChunkPart {
  const text = decoder.decode(value);
  const headerEnd = text.indexOf("\n");
  const [image, weight] = text.slice(0, headerEnd).split(" ").map(Number) as [number, number];
  const entries: TreeEntry[] = [];
  for (let from = headerEnd + 1; from <= text.length;) {
    const newline = text.indexOf("\n", from);
    const end = newline < 0 ? text.length : newline;
    const lengthAt = from + LEAF_CHARACTERS + 1;
    const space = text.indexOf(" ", lengthAt);
    const isWhole = text[lengthAt - 1] === " " && space > lengthAt && space < end;
    assert(isWhole, "a stream in a chunk has its leaf, its length and its key");
    entries.push({
      key: text.slice(space + 1, end),
      length: Number(text.slice(lengthAt, space)),
      leaf: text.slice(from, lengthAt - 1),
    });
    from = end + 1;
  }
  return { entries, image, weight, bytes: value.length - headerEnd - 1 };
}

function numberValue(number: number): Bytes {
  return encoder.encode(String(number));
}

function valueNumber(value: Bytes): number {
  return Number(decoder.decode(value));
}
