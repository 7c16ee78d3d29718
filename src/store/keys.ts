/**
 * Every key of the database, in one table that can be read as the schema. A new kind of record
 * starts with a line here and in `key_kinds.ts`, or in `deployment_keys.ts` if it belongs to the
 * whole deployment. A tenant's number (1 and up) begins the keys of one (instance, environment), so
 * no key of one tenant can meet another's.
 */

import type { Bytes, KeyRange } from "../kv/engine.ts";
import { keyAfter, pack, rangeOf, rangeWith, unpack } from "../kv/tuple.ts";
import { deploymentKeys } from "./deployment_keys.ts";
import { kind } from "./key_kinds.ts";

/**
 * The parts of a stream, in this order so that an append changes one page of a tree, not two.
 * `rewritten` has the segments of all generations but the first, which most streams never leave.
 */
export const streamPart = { rewritten: -1, segment: 0, head: 1 } as const;

export const keys = {
  ...deploymentKeys,

  // One tenant.
  /** Everything under the tenant's number. */
  tenant: (tenant: number): KeyRange => rangeOf([tenant]),
  /** Consecutive events of one stream, packed; `first` is the index of the first. */
  segment: (tenant: number, stream: string, first: number, generation = 0): Bytes =>
    generation === 0
      ? pack([tenant, kind.stream, stream, streamPart.segment, first])
      : pack([tenant, kind.stream, stream, streamPart.rewritten, generation, first]),
  segments: (tenant: number, stream: string, generation = 0): KeyRange =>
    generation === 0
      ? rangeOf([tenant, kind.stream, stream, streamPart.segment])
      : rangeOf([tenant, kind.stream, stream, streamPart.rewritten, generation]),
  head: (tenant: number, stream: string): Bytes =>
    pack([tenant, kind.stream, stream, streamPart.head]),
  allStreams: (tenant: number): KeyRange => rangeOf([tenant, kind.stream]),
  /** Piece `number` of a value too large for one key, under the key it belongs to. */
  piece: (tenant: number, owner: Bytes, number: number): Bytes =>
    pack([tenant, kind.piece, owner, number]),
  pieces: (tenant: number, owner: Bytes): KeyRange => rangeOf([tenant, kind.piece, owner]),
  /** The index behind listings: one empty value for each id that has events. */
  aggregate: (tenant: number, type: string, id: string): Bytes =>
    pack([tenant, kind.aggregate, type, id]),
  aggregates: (tenant: number, type: string): KeyRange => rangeOf([tenant, kind.aggregate, type]),
  aggregatesWith: (tenant: number, type: string, prefix: string): KeyRange =>
    rangeWith([tenant, kind.aggregate, type, prefix]),
  allAggregates: (tenant: number): KeyRange => rangeOf([tenant, kind.aggregate]),
  ledger: (tenant: number, idempotencyKey: string): Bytes =>
    pack([tenant, kind.ledger, idempotencyKey]),
  ledgers: (tenant: number): KeyRange => rangeOf([tenant, kind.ledger]),
  /** What the newest snapshot of a stream under one fold hash covers; its state is in parts. */
  snapshot: (tenant: number, stream: string, foldHash: string): Bytes =>
    pack([tenant, kind.snapshot, stream, foldHash]),
  snapshotPart: (
    tenant: number,
    stream: string,
    foldHash: string,
    length: number,
    part: number,
  ): Bytes => pack([tenant, kind.snapshot, stream, foldHash, length, part]),
  snapshotParts: (tenant: number, stream: string, foldHash: string, length: number): KeyRange =>
    rangeOf([tenant, kind.snapshot, stream, foldHash, length]),
  snapshots: (tenant: number, stream: string): KeyRange => rangeOf([tenant, kind.snapshot, stream]),
  spec: (tenant: number, version: number): Bytes => pack([tenant, kind.spec, version]),
  specs: (tenant: number): KeyRange => rangeOf([tenant, kind.spec]),
  specDocument: (tenant: number, version: number): Bytes =>
    pack([tenant, kind.specDocument, version]),
  currentSpec: (tenant: number): Bytes => pack([tenant, kind.currentSpec]),
  errorRecord: (tenant: number, errorId: string): Bytes =>
    pack([tenant, kind.errorRecord, errorId]),
  errorRecords: (tenant: number): KeyRange => rangeOf([tenant, kind.errorRecord]),
  /** The hashes of a tenant's API keys, in the order of their creation. */
  apiKey: (tenant: number, id: string): Bytes => pack([tenant, kind.apiKey, id]),
  apiKeys: (tenant: number): KeyRange => rangeOf([tenant, kind.apiKey]),
  /** Scheduled events that have not fired. */
  schedule: (tenant: number, id: string): Bytes => pack([tenant, kind.schedule, id]),
  schedules: (tenant: number): KeyRange => rangeOf([tenant, kind.schedule]),
  /** The scheduled events that an event of that type in that stream cancels. */
  cancelRule: (tenant: number, stream: string, eventType: string, id: string): Bytes =>
    pack([tenant, kind.cancelRule, stream, eventType, id]),
  cancelRules: (tenant: number, stream: string, eventType: string): KeyRange =>
    rangeOf([tenant, kind.cancelRule, stream, eventType]),
  streamCancelRules: (tenant: number, stream: string): KeyRange =>
    rangeOf([tenant, kind.cancelRule, stream]),
  /** Counts how often all of those were cancelled at once. */
  cancelMark: (tenant: number, stream: string, eventType: string): Bytes =>
    pack([tenant, kind.cancelMark, stream, eventType]),
  /** The hash of the list below: small, because every write reads it. */
  watchedTypesHash: (tenant: number): Bytes => pack([tenant, kind.watchedTypes, 0]),
  /** Which event types something waits for, and what reads the commit log. */
  watchedTypes: (tenant: number): Bytes => pack([tenant, kind.watchedTypes, 1]),
  /** What each commit did; followed by epoch, stamp and part: `feed/commit_log.ts`. */
  commitLogBegin: (tenant: number): Bytes => pack([tenant, kind.commitLog]),
  commitLog: (tenant: number): KeyRange => ({
    begin: pack([tenant, kind.commitLog]),
    end: pack([tenant, kind.commitLog + 1]),
  }),
  /** How far the projections have come in the commit log. */
  logCursor: (tenant: number): Bytes => pack([tenant, kind.logCursor]),
  /** From which event on the log has a stream, while earlier ones are being filled in. */
  logStart: (tenant: number, stream: string): Bytes => pack([tenant, kind.logStart, stream]),
  logStarts: (tenant: number): KeyRange => rangeOf([tenant, kind.logStart]),
  /** What an event has set off, by kind; what it has scheduled is apart, because that goes. */
  effect: (tenant: number, stream: string, index: number, group: number, id: string): Bytes =>
    pack([tenant, kind.effect, stream, index, group, id]),
  effects: (tenant: number, stream: string, index: number): KeyRange =>
    rangeOf([tenant, kind.effect, stream, index]),
  scheduleEffect: (tenant: number, stream: string, index: number, id: string): Bytes =>
    pack([tenant, kind.scheduleEffect, stream, index, id]),
  scheduleEffects: (tenant: number, stream: string, index: number): KeyRange =>
    rangeOf([tenant, kind.scheduleEffect, stream, index]),
  allScheduleEffects: (tenant: number): KeyRange => rangeOf([tenant, kind.scheduleEffect]),
  tenantEffectsSince: (tenant: number): Bytes => pack([tenant, kind.effectsSince]),
  /** How many aggregates and events a type has, and up to which place of the log. */
  typeCount: (tenant: number, type: string): Bytes => pack([tenant, kind.typeCount, 1, type]),
  typeCounts: (tenant: number): KeyRange => rangeOf([tenant, kind.typeCount, 1]),
  countedPlace: (tenant: number): Bytes => pack([tenant, kind.typeCount, 0]),
  /** What the cursors of the feed are recognized by. */
  feedId: (tenant: number): Bytes => pack([tenant, kind.feedId]),
  /** The log of a store made before there was a feed; followed by a stamp and the stream. */
  shardedLog: (tenant: number, shard: number): Bytes => pack([tenant, kind.shardedLog, shard]),
  shardedCursors: (tenant: number): KeyRange => rangeOf([tenant, kind.shardedCursor]),
  saga: (tenant: number, id: string): Bytes => pack([tenant, kind.saga, id]),
  sagas: (tenant: number): KeyRange => rangeOf([tenant, kind.saga]),
  /** The index behind listings, by state; `name` is "" in the part that lists all sagas. */
  sagaListed: (tenant: number, name: string, state: string, id: string): Bytes =>
    pack([tenant, kind.sagaList, name, state, id]),
  sagaList: (tenant: number, name: string, state: string): KeyRange =>
    rangeOf([tenant, kind.sagaList, name, state]),
  /** Sagas that wait for an event of that type in that stream, from the index `from` on. */
  sagaWait: (tenant: number, stream: string, eventType: string, from: number, id: string): Bytes =>
    pack([tenant, kind.sagaWait, stream, eventType, from, id]),
  sagaWaits: (tenant: number, stream: string, eventType: string): KeyRange =>
    rangeOf([tenant, kind.sagaWait, stream, eventType]),
  /** The definition that sagas were started under, by its hash. */
  sagaDefinition: (tenant: number, hash: string): Bytes =>
    pack([tenant, kind.sagaDefinition, hash]),
  /** Pending deliveries in lanes, one for each listener and stream, by the index of the event. */
  delivery: (tenant: number, listener: string, stream: string, index: number): Bytes =>
    pack([tenant, kind.delivery, listener, stream, index]),
  lane: (tenant: number, listener: string, stream: string): KeyRange =>
    rangeOf([tenant, kind.delivery, listener, stream]),
  endpointDeliveries: (tenant: number, listener: string): KeyRange =>
    rangeOf([tenant, kind.delivery, listener]),
  deliveries: (tenant: number): KeyRange => rangeOf([tenant, kind.delivery]),
  /** Deliveries that have ended. */
  endedDelivery: (tenant: number, listener: string, state: string, id: string): Bytes =>
    pack([tenant, kind.endedDelivery, listener, state, id]),
  endedDeliveries: (tenant: number, listener: string, state: string): KeyRange =>
    rangeOf([tenant, kind.endedDelivery, listener, state]),
  allEndedDeliveries: (tenant: number): KeyRange => rangeOf([tenant, kind.endedDelivery]),
  /** A version of a blob; beside it the file as it was uploaded, and the module as it runs. */
  blob: (tenant: number, name: string, version: number): Bytes =>
    pack([tenant, kind.blob, name, version]),
  blobVersions: (tenant: number, name: string): KeyRange => rangeOf([tenant, kind.blob, name]),
  blobs: (tenant: number): KeyRange => rangeOf([tenant, kind.blob]),
  blobFile: (tenant: number, name: string, version: number): Bytes =>
    pack([tenant, kind.blobFile, name, version]),
  blobModule: (tenant: number, name: string, version: number): Bytes =>
    pack([tenant, kind.blobModule, name, version]),
  /** The key of the version that was made from a file with that SHA-256. */
  blobHash: (tenant: number, name: string, sha256: string): Bytes =>
    pack([tenant, kind.blobHash, name, sha256]),
  /**
   * Work that a transfer keeps back from the queues of the deployment: entries first, then
   * timers.
   */
  transferredEntry: (tenant: number, stream: string, index: number, number: number): Bytes =>
    pack([tenant, kind.transferredWork, 0, stream, index, number]),
  transferredTimer: (tenant: number, timerKind: string, id: string): Bytes =>
    pack([tenant, kind.transferredWork, 1, timerKind, id]),
  allTransferred: (tenant: number): KeyRange => rangeOf([tenant, kind.transferredWork]),
  /** How many cuts there have been; every write reads it. */
  auditEpoch: (tenant: number): Bytes => pack([tenant, kind.auditEpoch]),
  /** What a stream was before its first write in an epoch. */
  auditChange: (tenant: number, epoch: number, stream: string): Bytes =>
    pack([tenant, kind.auditChange, epoch, stream]),
  auditChanges: (tenant: number): KeyRange => rangeOf([tenant, kind.auditChange]),
  auditChangesOf: (tenant: number, epoch: number): KeyRange =>
    rangeOf([tenant, kind.auditChange, epoch]),
  /** Counts rewritten streams. */
  auditRewrites: (tenant: number): Bytes => pack([tenant, kind.auditRewrites]),
  /** The newest anchor's number, and the cut for which one is being made. */
  auditState: (tenant: number): Bytes => pack([tenant, kind.auditState]),
  /** Anchors, numbered from 1; their numbers by id; the blocks of their trees. */
  anchor: (tenant: number, number: number): Bytes => pack([tenant, kind.anchor, number]),
  anchors: (tenant: number): KeyRange => rangeOf([tenant, kind.anchor]),
  anchorNumber: (tenant: number, id: string): Bytes => pack([tenant, kind.anchorId, id]),
  anchorBlocks: (tenant: number, number: number): Bytes =>
    pack([tenant, kind.anchorBlocks, number]),
  /** Which anchor made the chunk of streams that begins with the key `low`, in tree order. */
  chunk: (tenant: number, low: string): Bytes => pack([tenant, kind.chunk, inTreeOrder(low)]),
  chunks: (tenant: number): KeyRange => rangeOf([tenant, kind.chunk]),
  chunkLow: (key: Bytes): string => fromTreeOrder(unpack(key).at(-1) as string),
  /** A chunk's leaves as of an anchor, or that anchor's changes to them. */
  chunkLeaves: (tenant: number, low: string, anchor: number): Bytes =>
    pack([tenant, kind.chunkLeaves, low, anchor]),
  allChunkLeaves: (tenant: number, low: string): KeyRange =>
    rangeOf([tenant, kind.chunkLeaves, low]),
  /** Nodes of a stream's Merkle tree; see `domain/audit/tree_tiles.ts`. */
  tile: (
    tenant: number,
    stream: string,
    generation: number,
    height: number,
    number: number,
  ): Bytes => pack([tenant, kind.tile, stream, generation, height, number]),
  tiles: (tenant: number, stream: string, generation: number, height: number): KeyRange =>
    rangeOf([tenant, kind.tile, stream, generation, height]),
  streamTiles: (tenant: number, stream: string): KeyRange => rangeOf([tenant, kind.tile, stream]),
  /**
   * The newest point of an aggregate, by its place (`geo_place.ts`), which begins with its leaf.
   */
  geoPoint: (tenant: number, type: string, place: Bytes, id: string): Bytes =>
    pack([tenant, kind.geoPoint, type, place, id]),
  geoPoints: (tenant: number, type: string): KeyRange => rangeOf([tenant, kind.geoPoint, type]),
  geoPointsAt: (tenant: number, type: string, place: Bytes): KeyRange =>
    rangeOf([tenant, kind.geoPoint, type, place]),
  geoLeaf: (tenant: number, type: string, leaf: Bytes): Bytes =>
    pack([tenant, kind.geoPoint, type, leaf]),
  allGeoPoints: (tenant: number): KeyRange => rangeOf([tenant, kind.geoPoint]),
  /** Counts changes to the definitions of projections, which are below, by name. */
  projectionChanges: (tenant: number): Bytes => pack([tenant, kind.projection, 0]),
  /** How many projections there have ever been: the number of the newest one. */
  projectionCount: (tenant: number): Bytes => pack([tenant, kind.projection, 1]),
  projection: (tenant: number, name: string): Bytes => pack([tenant, kind.projection, 2, name]),
  projections: (tenant: number): KeyRange => rangeOf([tenant, kind.projection, 2]),
  /** The rows of one version of a projection. */
  projectionRow: (tenant: number, projection: number, version: number, row: string): Bytes =>
    pack([tenant, kind.projectionRow, projection, version, row]),
  projectionRows: (tenant: number, projection: number, version: number): KeyRange =>
    rangeOf([tenant, kind.projectionRow, projection, version]),
  /** Which rows show something of a stream that is not their own. */
  projectionSource: (
    tenant: number,
    projection: number,
    version: number,
    stream: string,
    row: string,
  ): Bytes => pack([tenant, kind.projectionSource, projection, version, stream, row]),
  projectionSourcesOf: (
    tenant: number,
    projection: number,
    version: number,
    stream: string,
  ): KeyRange => rangeOf([tenant, kind.projectionSource, projection, version, stream]),
  projectionSources: (tenant: number, projection: number, version: number): KeyRange =>
    rangeOf([tenant, kind.projectionSource, projection, version]),
  /** Followed by the stamp of the commit, then by the key of the changed row. */
  rowChange: (tenant: number, projection: number, version: number): Bytes =>
    pack([tenant, kind.rowChange, projection, version]),
  /** The place up to which changes have been removed. */
  rowChangesTrimmed: (tenant: number, projection: number, version: number): Bytes =>
    pack([tenant, kind.projectionWork, projection, version, "trimmed"]),
  /** How far the build of a version has come. */
  projectionBuild: (tenant: number, projection: number, version: number): Bytes =>
    pack([tenant, kind.projectionWork, projection, version, "build"]),
  /** Counts commits that a version has missed. */
  projectionMissed: (tenant: number, projection: number, version: number): Bytes =>
    pack([tenant, kind.projectionWork, projection, version, "missed"]),
  /** Streams that are shown by so many rows that they are refreshed step by step. */
  projectionRefresh: (tenant: number, projection: number, version: number, stream: string): Bytes =>
    pack([tenant, kind.projectionWork, projection, version, "refresh", stream]),
  projectionRefreshes: (tenant: number, projection: number, version: number): KeyRange =>
    rangeOf([tenant, kind.projectionWork, projection, version, "refresh"]),
  /** Rows that could not be computed, by the time of their next attempt in ms since 1970. */
  projectionRetry: (
    tenant: number,
    projection: number,
    version: number,
    dueMs: number,
    row: string,
  ): Bytes => pack([tenant, kind.projectionWork, projection, version, "retry", dueMs, row]),
  projectionRetries: (tenant: number, projection: number, version: number): KeyRange =>
    rangeOf([tenant, kind.projectionWork, projection, version, "retry"]),
  /** All work on one version. */
  projectionWorks: (tenant: number, projection: number, version: number): KeyRange =>
    rangeOf([tenant, kind.projectionWork, projection, version]),
  /** How far an operator's import has come. */
  importRecord: (tenant: number, id: string): Bytes => pack([tenant, kind.importRecord, id]),
  importRecords: (tenant: number): KeyRange => rangeOf([tenant, kind.importRecord]),
  /** Counts events stored in a month, such as `2026-11`. */
  usage: (tenant: number, month: string, shard: number): Bytes =>
    pack([tenant, kind.usage, month, shard]),
  usages: (tenant: number, month: string): KeyRange => rangeOf([tenant, kind.usage, month]),
  /** Requests to erase a stream; beside them, the one that is open for a stream. */
  tombstone: (tenant: number, id: string): Bytes => pack([tenant, kind.tombstone, id]),
  tombstones: (tenant: number): KeyRange => rangeOf([tenant, kind.tombstone]),
  tombstoneStream: (tenant: number, stream: string): Bytes =>
    pack([tenant, kind.tombstoneStream, stream]),
  /** Timers that came due while their environment was paused. */
  asideTimer: (tenant: number, dueMs: number, timerKind: string, id: string): Bytes =>
    pack([tenant, kind.asideTimer, dueMs, timerKind, id]),
  asideTimers: (tenant: number): KeyRange => rangeOf([tenant, kind.asideTimer]),
  /** How much one write has set off, over all depths. */
  root: (tenant: number, of: string): Bytes => pack([tenant, kind.root, of]),
  /** Counts what recurring timers set off in an hour, by hour since 1970. */
  recurring: (tenant: number, hour: number, shard: number): Bytes =>
    pack([tenant, kind.recurring, hour, shard]),
  recurrings: (tenant: number, hour?: number): KeyRange =>
    rangeOf([tenant, kind.recurring, ...(hour === undefined ? [] : [hour])]),
} as const;

export { keyAfter };

/**
 * The first goes before each character of two code units, the last before others from U+E000 on.
 */
const [FIRST, LAST] = ["\ue000", "\uffff"];
const MOVED = /[\ue000-\uffff\u{10000}-\u{10ffff}]/gu;
const MARKED = /[\ue000\uffff](.)/gsu;

/**
 * A text whose bytes sort where `key` is in an instance tree. A tree is ordered by UTF-16 code
 * units, the store by UTF-8 bytes. They differ if names of singletons have characters from U+E000
 * on. See docs/reference/audit.md.
 */
export function inTreeOrder(key: string): string {
  return key.replace(MOVED, (each) => (each.length === 2 ? FIRST : LAST) + each);
}

/** The inverse of {@link inTreeOrder}. */
export function fromTreeOrder(text: string): string {
  return text.replace(MARKED, "$1");
}
