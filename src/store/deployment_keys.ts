/**
 * The keys of the whole deployment, which `0` begins. They are a part of the table in `keys.ts`,
 * where those of tenants are.
 */

import type { Bytes, KeyRange } from "../kv/engine.ts";
import { pack, rangeOf } from "../kv/tuple.ts";

export const deploymentKeys = {
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
  /** The owner of a shard of a background queue. */
  leaseOwner: (queue: string, shard: number): Bytes => pack([0, "lease", queue, shard, 0]),
  leases: (queue: string): KeyRange => rangeOf([0, "lease", queue]),
  /** Processes that do background work, and when they last announced it. */
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
  /** There if the deployment was restored from a backup and has not been resumed. */
  restored: (): Bytes => pack([0, "restored"]),
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
  /** From when on it is noted what events set off. */
  effectsSince: (): Bytes => pack([0, "effects_since"]),
  /** Counts commits that a projection may show; watched. */
  commitSignal: (): Bytes => pack([0, "commit_signal"]),
  /** Erasures of the whole deployment that are due or under way. */
  erasure: (tenant: number, id: string): Bytes => pack([0, "erasure", tenant, id]),
  erasures: (): KeyRange => rangeOf([0, "erasure"]),
  /** Counts erased streams; watched, so that every node clears its caches. */
  erasureSignal: (): Bytes => pack([0, "erasure_signal"]),
} as const;
