/**
 * Every key of the database, in one table that can be read as the schema. A new kind of record
 * starts with a line here and in `key_kinds.ts`. `0` begins the keys of the whole deployment. A
 * tenant's number (1 and up) begins those of one (instance, environment), so no key of one
 * tenant can meet another's.
 */

import type { Bytes, KeyRange } from "../kv/engine.ts";
import { newBytes } from "../kv/slab.ts";
import { pack, rangeOf, rangeWith, unpack } from "../kv/tuple.ts";
import { kind } from "./key_kinds.ts";
import { fromTreeOrder, inTreeOrder } from "./audit/tree_order.ts";

/**
 * The parts of a stream, in this order so that an append changes one page of a tree, not two.
 * `rewritten` has the segments of all generations but the first, which most streams never leave.
 */
export const streamPart = { rewritten: -1, segment: 0, head: 1 } as const;

export const keys = {
  // The whole deployment.
  instance: (id: string): Bytes => pack([0, "instance", id]),
  instances: (): KeyRange => rangeOf([0, "instance"]),
  /** Slug to instance id. */
  slug: (slug: string): Bytes => pack([0, "slug", slug]),
  /** How many tenant numbers have been given out. */
  tenantCount: (): Bytes => pack([0, "tenant_count"]),
  /** SHA-256 of an API key (32 bytes) to its record. */
  apiKeyByHash: (hash: Bytes): Bytes => pack([0, "api_key", hash]),
  /** API key id to the hash. */
  apiKeyHash: (id: string): Bytes => pack([0, "api_key_hash", id]),
  user: (email: string): Bytes => pack([0, "user", email]),
  /** Recent failed logins of one account, by the SHA-256 of its email in hex. */
  failedLogins: (emailHash: string): Bytes => pack([0, "failed_logins", emailHash]),
  allFailedLogins: (): KeyRange => rangeOf([0, "failed_logins"]),
  /** Secrets of the deployment, for example the operator token secret on clusters. */
  secret: (name: string): Bytes => pack([0, "secret", name]),
  /** Ed25519 key pairs of an instance, oldest first. */
  signingKey: (instanceId: string, number: number): Bytes =>
    pack([0, "signing_key", instanceId, number]),
  signingKeys: (instanceId: string): KeyRange => rangeOf([0, "signing_key", instanceId]),
  /** Counts changes of keys, tiers and instances; watched, so that every node clears its caches. */
  accessVersion: (): Bytes => pack([0, "access_version"]),
  /** What processes have taken of an instance's rate limit; `of` is for its reads or its writes. */
  rateShare: (instanceId: string, of: string): Bytes => pack([0, "rate_share", instanceId, of]),
  /** Counts changes of the specs of tenants, or of what they call; watched for the same reason. */
  specVersion: (): Bytes => pack([0, "spec_version"]),
  /** Error records to be removed, by hour since 1970. */
  errorDue: (hour: number, tenant: number, errorId: string): Bytes =>
    pack([0, "error_due", hour, tenant, errorId]),
  errorDues: (): KeyRange => rangeOf([0, "error_due"]),
  /** Records of roots that may be over, by hour since 1970; "" is for the counters of hours. */
  rootDue: (hour: number, tenant: number, of: string): Bytes =>
    pack([0, "root_due", hour, tenant, of]),
  rootDues: (): KeyRange => rangeOf([0, "root_due"]),
  /** A transfer under way: the tenant number it fills before that becomes the environment. */
  transferMark: (slug: string, environment: string): Bytes =>
    pack([0, "import", slug, environment]),
  /** Environments whose transferred work is not in the queues yet, by tenant number. */
  transferredWork: (tenant: number): Bytes => pack([0, "imported_work", tenant]),
  transferredWorks: (): KeyRange => rangeOf([0, "imported_work"]),
  /** The first instance, and where its keys were written. */
  firstStart: (): Bytes => pack([0, "first_start"]),
  /** Ed25519 key pairs that sign platform anchors, oldest first; the anchors, from 1. */
  platformKey: (number: number): Bytes => pack([0, "platform_key", number]),
  platformKeys: (): KeyRange => rangeOf([0, "platform_key"]),
  platformAnchor: (number: number): Bytes => pack([0, "platform_anchor", number]),
  platformAnchors: (): KeyRange => rangeOf([0, "platform_anchor"]),
  /** The owner of a shard of a background queue; beside it, the end of the lease. */
  leaseOwner: (queue: string, shard: number): Bytes => pack([0, "lease", queue, shard, 0]),
  leaseEnd: (queue: string, shard: number): Bytes => pack([0, "lease", queue, shard, 1]),
  leases: (queue: string): KeyRange => rangeOf([0, "lease", queue]),
  /** Processes that do background work, and until when they announce it. */
  worker: (owner: string): Bytes => pack([0, "worker", owner]),
  workers: (): KeyRange => rangeOf([0, "worker"]),
  /** Streams whose snapshot is to be rebuilt in the background, by shard. */
  rebuild: (shard: number, tenant: number, stream: string): Bytes =>
    pack([0, "rebuild_stream", shard, tenant, stream]),
  rebuilds: (shard: number): KeyRange => rangeOf([0, "rebuild_stream", shard]),
  /** Aggregate types whose handlers changed; the value is the id up to which streams are done. */
  rebuildType: (tenant: number, type: string): Bytes => pack([0, "rebuild_type", tenant, type]),
  rebuildTypes: (): KeyRange => rangeOf([0, "rebuild_type"]),
  /** The outbox: what an event has set off, by its stream and index, numbered within the event. */
  outbox: (shard: number, tenant: number, stream: string, index: number, number: number): Bytes =>
    pack([0, "outbox", shard, tenant, stream, index, number]),
  outboxes: (shard: number): KeyRange => rangeOf([0, "outbox", shard]),
  tenantOutbox: (shard: number, tenant: number): KeyRange => rangeOf([0, "outbox", shard, tenant]),
  streamOutbox: (shard: number, tenant: number, stream: string): KeyRange =>
    rangeOf([0, "outbox", shard, tenant, stream]),
  /** Counts writes that left outbox entries for others to do; watched. */
  outboxSignal: (): Bytes => pack([0, "outbox_signal"]),
  /** Environments whose reactions are paused; beside it a counter of changes to that, watched. */
  pause: (tenant: number): Bytes => pack([0, "reactions_paused", tenant]),
  pauses: (): KeyRange => rangeOf([0, "reactions_paused"]),
  pauseSignal: (): Bytes => pack([0, "reactions_paused_signal"]),
  /** Work that failed too often to be tried again, under the key it had. */
  parked: (key: Bytes): Bytes => pack([0, "parked", key]),
  parkeds: (): KeyRange => rangeOf([0, "parked"]),
  /**
   * Timers by due time, in milliseconds since 1970; `kind` and `id` say what of the tenant is
   * due.
   */
  timer: (shard: number, dueMs: number, tenant: number, kind: string, id: string): Bytes =>
    pack([0, "timer", shard, dueMs, tenant, kind, id]),
  timers: (shard: number): KeyRange => rangeOf([0, "timer", shard]),
  /** Lanes of deliveries that may have something to do. */
  laneMark: (shard: number, tenant: number, listener: string, stream: string): Bytes =>
    pack([0, "lane", shard, tenant, listener, stream]),
  laneMarks: (shard: number): KeyRange => rangeOf([0, "lane", shard]),
  endpointMarks: (shard: number, tenant: number, listener: string): KeyRange =>
    rangeOf([0, "lane", shard, tenant, listener]),
  /** Counts transactions that marked lanes; watched. */
  laneSignal: (): Bytes => pack([0, "lane_signal"]),
  /** Environments that have projections, or still have something of former ones. */
  projectionTenant: (tenant: number): Bytes => pack([0, "view_tenant", tenant]),
  projectionTenants: (): KeyRange => rangeOf([0, "view_tenant"]),
  /** Environments whose log lacks the time before it, and how far filling it in has come. */
  feedFill: (tenant: number): Bytes => pack([0, "feed_fill", tenant]),
  feedFills: (): KeyRange => rangeOf([0, "feed_fill"]),
  /** Set once all environments from before the feed are known. */
  feedPrepared: (): Bytes => pack([0, "feed_prepared"]),
  /** Counts commits that a projection may show; watched. */
  commitSignal: (): Bytes => pack([0, "commit_signal"]),
  /** Erasures of the whole deployment that are due or under way. */
  erasure: (tenant: number, id: string): Bytes => pack([0, "erasure", tenant, id]),
  erasures: (): KeyRange => rangeOf([0, "erasure"]),
  /** Counts erased streams; watched, so that every node clears its caches. */
  erasureSignal: (): Bytes => pack([0, "erasure_signal"]),

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

/** The first key after `key`. */
export function keyAfter(key: Bytes): Bytes {
  const next = newBytes(key.length + 1);
  next.set(key);
  return next;
}
