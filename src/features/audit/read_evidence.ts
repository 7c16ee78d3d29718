/**
 * Reads evidence: anchors, the public keys that signed them, and the bundle that proves one
 * event under an anchor.
 *
 * A bundle can be had for any event and any anchor of its environment. Making it reads neither
 * the whole instance nor the whole stream. See docs/reference/audit.md.
 */

import { assert } from "../../domain/assert.ts";
import { formatOf, type InstanceAnchor } from "../../domain/audit/anchor.ts";
import { type AttestationBundle, buildBundle } from "../../domain/audit/bundle.ts";
import { type InclusionProof, proofRoot } from "../../domain/audit/merkle.ts";
import { leafHash, type PackedNodes } from "../../domain/audit/chain.ts";
import {
  blockWith,
  packBlocks,
  packLeaves,
  type TreeBlock,
  type TreeEntry,
} from "../../domain/audit/tree_blocks.ts";
import { BLOCK_LEAVES, proveInBlock } from "../../domain/audit/tree_rows.ts";
import { proveFromTiles, tilesOfProof } from "../../domain/audit/tree_tiles.ts";
import { eventId } from "../../domain/event.ts";
import { openPieces, type Turns } from "../../domain/fairness/pieces.ts";
import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import { createRecentTexts } from "../../domain/recent_map.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import {
  listAnchors as listNumbered,
  type NumberedAnchor,
  readAnchor as readNumbered,
  readBlocks,
} from "../../store/audit/anchors.ts";
import { readEvent } from "../../store/streams/stream_events.ts";
import { readHead } from "../../store/streams/streams.ts";
import { readTile, type TiledStream, type TileReading } from "../../store/streams/tiles.ts";
import { findChunks, readChunk } from "../../store/audit/tree_chunks.ts";
import { locateStream, type SpecCache } from "../base/current_spec.ts";
import { cutPage, type ListPage, pageLimit } from "../../domain/list_page.ts";
import {
  readCurrentSigningKey,
  readSigningKeys,
  SIGNING_KEYS_AT_ONCE,
} from "../../store/audit/signing_keys.ts";

/** The public half of a signing key. */
export interface PublicKey {
  /** 32 bytes as lowercase hex. */
  readonly public_key: string;
  /** ISO 8601 UTC. */
  readonly created_at: string;
}

export type AnchorPage = ListPage<InstanceAnchor>;

/** Longer than any anchor id. */
const ID_CHARACTERS_MAX = 64;

/** With `id` undefined: the newest anchor. */
export async function showAnchor(
  engine: Engine,
  tenant: Tenant,
  id: string | undefined,
): Promise<Outcome<InstanceAnchor>> {
  if (id !== undefined && id.length > ID_CHARACTERS_MAX) {
    return refuse({ kind: "anchor_not_found" });
  }
  const found = await engine.snapshot((tx) => readNumbered(tx, tenant.number, id));
  return found === undefined ? refuse({ kind: "anchor_not_found" }) : accept(found.anchor);
}

/** `start`: the id of an anchor; the page holds older ones. */
export async function showAnchors(
  engine: Engine,
  tenant: Tenant,
  page: { readonly limit?: number; readonly start?: string },
): Promise<Outcome<AnchorPage>> {
  const { start, limit } = page;
  if (start !== undefined && start.length > ID_CHARACTERS_MAX) return badStart();
  const found = await engine.snapshot(async (tx) => {
    const from = start === undefined ? undefined : await readNumbered(tx, tenant.number, start);
    if (start !== undefined && from === undefined) return undefined;
    return await listNumbered(tx, tenant.number, {
      before: from?.number,
      limit: pageLimit(limit) + 1,
    });
  });
  if (found === undefined) return badStart();
  return accept(cutPage(found.map(({ anchor }) => anchor), limit, ({ id }) => id));
}

function badStart() {
  const message = "start must be the id of an anchor, as a listing gives it";
  return refuse({ kind: "bad_request", message, path: "start" });
}

/** All keys of the instance; the last one is the current key. */
export async function listPublicKeys(
  engine: Engine,
  turns: Turns,
  { instanceId }: Tenant,
): Promise<PublicKey[]> {
  return await engine.snapshot(async (tx) => {
    const pieces = openTransactionPieces(turns, instanceId);
    const shown: PublicKey[] = [];
    let after: number | undefined;
    for (;;) {
      const keys = await readSigningKeys(tx, instanceId, after);
      shown.push(...keys.map(showKey));
      if (keys.length < SIGNING_KEYS_AT_ONCE) return shown;
      after = keys.at(-1)!.number;
      await pieces.rest();
    }
  });
}

/** The key that signs now. */
export async function readPublicKey(engine: Engine, tenant: Tenant): Promise<PublicKey> {
  const key = await engine.snapshot((tx) => readCurrentSigningKey(tx, tenant.instanceId));
  assert(key !== undefined, "every instance has a signing key");
  return showKey(key);
}

function showKey({ public_key, created_at }: PublicKey): PublicKey {
  return { public_key, created_at };
}

export interface AttestationRequest {
  readonly aggregateType: string;
  readonly id: string;
  /** As sent. */
  readonly index: string;
  /** The id of an anchor; absent: the newest. */
  readonly anchor?: string;
}

export interface AttestationReader {
  read(tenant: Tenant, request: AttestationRequest): Promise<Outcome<AttestationBundle>>;
}

/** How many tree blocks are cached; each takes about 200 KB. */
const BLOCKS_KEPT = 128;
/**
 * How many anchors have their block list cached; a list takes some 100 KB for a million
 * streams.
 */
const ANCHORS_KEPT = 16;

const BEFORE_FIRST_ANCHOR = "There is none yet: each environment gets one in every interval in " +
  "which it was written to, and POST /_admin/anchors makes one now";

/**
 * An index above 2^53 loses precision as a double, but it is beyond the length of any stream
 * anyway.
 */
const INDEX = /^(?:0|[1-9][0-9]*)$/;

/** One block of an anchor's tree; it never changes. */
interface BlockLeaves {
  readonly entries: ReadonlyMap<string, { readonly place: number; readonly entry: TreeEntry }>;
  readonly leaves: PackedNodes;
}

interface AnchoredEvent {
  readonly stream: TiledStream & { readonly length: number };
  readonly numbered: NumberedAnchor;
  readonly index: number;
}

interface BlockPlace {
  readonly number: number;
  readonly list: readonly TreeBlock[];
  readonly at: number;
}

export function createAttestationReader(
  engine: Engine,
  specs: SpecCache,
  turns: Turns,
): AttestationReader {
  const blockLists = createRecentTexts<readonly TreeBlock[]>(ANCHORS_KEPT);
  const blocks = createRecentTexts<BlockLeaves>(BLOCKS_KEPT);

  async function listBlocks(tx: ReadTransaction, tenant: number, number: number) {
    const name = `${tenant}/${number}`;
    const known = blockLists.get(name) ?? await readBlocks(tx, tenant, number);
    blockLists.set(name, known);
    return known;
  }

  async function readBlock(
    tx: ReadTransaction,
    tenant: number,
    { number, list, at }: BlockPlace,
  ): Promise<BlockLeaves> {
    const name = `${tenant}/${number}/${at}`;
    const known = blocks.get(name) ?? await loadBlock(tx, tenant, { number, list, at });
    blocks.set(name, known);
    return known;
  }

  /**
   * The stream's entry in the anchor, and its inclusion proof; undefined if the anchor lacks
   * the stream.
   */
  async function placeStream(
    tx: ReadTransaction,
    tenant: number,
    number: number,
    key: string,
  ): Promise<PlacedStream | undefined> {
    const list = await listBlocks(tx, tenant, number);
    const at = blockWith(list, key);
    if (at < 0) return undefined;
    const { entries, leaves } = await readBlock(tx, tenant, { number, list, at });
    const found = entries.get(key);
    if (found === undefined) return undefined;
    const index = at * BLOCK_LEAVES + found.place;
    const prove = () => proveInBlock(index, leaves, packBlocks(list));
    return { index, entry: found.entry, prove };
  }

  async function attest(
    tx: ReadTransaction,
    tenant: number,
    { stream, numbered, index }: AnchoredEvent,
  ): Promise<Outcome<AttestationBundle>> {
    const { number, anchor } = numbered;
    const placed = await placeStream(tx, tenant, number, stream.key);
    if (placed === undefined) return beyond(numbered, "stream", 0);
    const { length, leaf } = placed.entry;
    const { generation } = stream;
    if (index >= length) return beyond(numbered, "index", length);
    const mismatch = { kind: "anchor_stream_mismatch", anchorId: anchor.id } as const;
    if (stream.length < length) return refuse(mismatch);
    const [event, previous, streamProof] = await Promise.all([
      readEvent(tx, tenant, stream.key, { index, generation }),
      index === 0 ? undefined : readEvent(tx, tenant, stream.key, { index: index - 1, generation }),
      proveEvent(tx, stream, { length, pieces: openPieces(turns) }, index),
    ]);
    if (event === undefined) return refuse(mismatch);
    const root = proofRoot(event.hash, streamProof);
    if (leafHash(root) !== leaf) return refuse(mismatch);
    const { raw, hash } = event;
    const id = eventId(index);
    return accept(buildBundle({
      event: { index, id, raw, hash, prev_hash: previous?.hash ?? "" },
      stream: { key: stream.key, merkle_root: root, event_count: length },
      streamProof,
      streamIndex: placed.index,
      instanceProof: placed.prove(),
      anchor,
    }));
  }

  async function read(
    tenant: Tenant,
    request: AttestationRequest,
  ): Promise<Outcome<AttestationBundle>> {
    const spec = await specs.current(tenant.number);
    const located = locateStream(spec, request.aggregateType, request.id);
    if (!located.ok) return located;
    const { key } = located.value;
    if (!INDEX.test(request.index)) return refuse({ kind: "invalid_index" });
    const index = Number(request.index);
    return await engine.snapshot(async (tx): Promise<Outcome<AttestationBundle>> => {
      const [anchor, head] = await Promise.all([
        readNumbered(tx, tenant.number, request.anchor),
        readHead(tx, tenant.number, key),
      ]);
      if (anchor === undefined) {
        const hint = request.anchor === undefined ? BEFORE_FIRST_ANCHOR : undefined;
        return refuse({ kind: "anchor_not_found", hint });
      }
      if (formatOf({ ...anchor.anchor }) !== 2) {
        return refuse({ kind: "anchor_format_unsupported", anchorId: anchor.anchor.id });
      }
      if (head.length === 0) return refuse({ kind: "stream_not_found" });
      const { generation, length } = head;
      const stream = { tenant: tenant.number, key, generation, length };
      return await attest(tx, tenant.number, { stream, numbered: anchor, index });
    });
  }

  return { read };
}

interface PlacedStream {
  /** The position among all streams of the anchor. */
  readonly index: number;
  readonly entry: TreeEntry;
  readonly prove: () => InclusionProof;
}

function beyond(
  { anchor: { id, created_at } }: NumberedAnchor,
  reason: "index" | "stream",
  coveredEventCount: number,
) {
  return refuse({
    kind: "beyond_anchor_coverage",
    reason,
    anchorId: id,
    anchorCreatedAt: created_at,
    coveredEventCount,
  });
}

async function loadBlock(
  tx: ReadTransaction,
  tenant: number,
  { number, list, at }: BlockPlace,
): Promise<BlockLeaves> {
  const { first } = list[at]!;
  const next = list[at + 1]?.first;
  const lows = await findChunks(tx, tenant, { anchor: number, from: first, to: next });
  const chunks = await Promise.all(lows.map((low) => readChunk(tx, tenant, low, number)));
  const found = chunks.flatMap(({ entries }) => entries)
    .filter(({ key }) => key >= first && (next === undefined || key < next));
  const entries = new Map(found.map((entry, place) => [entry.key, { place, entry }]));
  return { entries, leaves: packLeaves(found) };
}

/** The inclusion proof of an event in the tree of the stream's first `length` events. */
async function proveEvent(
  tx: ReadTransaction,
  stream: TiledStream,
  reading: TileReading,
  index: number,
): Promise<InclusionProof> {
  const { length: count } = reading;
  const places = tilesOfProof(count, index);
  const tiles = await Promise.all(places.map((place) => readTile(tx, stream, place, reading)));
  const nameOf = ({ height, number }: { height: number; number: number }) => `${height}/${number}`;
  const byPlace = new Map(places.map((place, at) => [nameOf(place), tiles[at]!]));
  return proveFromTiles(count, index, (place) => byPlace.get(nameOf(place))!);
}
