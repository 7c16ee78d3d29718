/**
 * Reads the state of one aggregate: cached, synchronous, as of a time or of a length, within the
 * fold budget.
 *
 * See docs/reference/reading.md.
 */

import { count, type Counters, newCounters } from "../../domain/measures/counters.ts";
import type { StoredEvent } from "../../domain/event.ts";
import { openPieces } from "../../domain/fairness/pieces.ts";
import { limits } from "../../domain/limits.ts";
import type { AggregateView, ReadAggregateRequest } from "../../domain/reading.ts";
import { accept, ACCEPTED, type Outcome, type Refusal, refuse } from "../../domain/refusal.ts";
import type { CompiledAggregateType } from "../../domain/spec/compiled.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { locateStream, type SpecCache } from "../base/current_spec.ts";
import { readHeadAfter } from "../../store/streams/stream_events.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { type StateJson, textOfState } from "../../store/streams/state_parts.ts";
import { readHead } from "../../store/streams/streams.ts";
import { type FoldBase, type FoldedState, stateOfBase } from "./folded_state.ts";
import {
  bytesToFold,
  foldInSteps,
  foldStream,
  type FoldWork,
  measureFold,
  refuseBudget,
  shareFolds,
  untilUnmoved,
  wasRewritten,
} from "./fold_stream.ts";
import { type HandlerRunners, refuseSlowModules } from "./fold_steps.ts";
import { openLogMarks } from "./log_marks.ts";
import { openSmallReader, type SmallHeadReader } from "./read_small.ts";
import type { ComputeRunner } from "./run_compute.ts";
import {
  type CachedState,
  EMPTY_STATE,
  isUsable,
  noteMarked,
  shareLoads,
  type StateCache,
  viewOfState,
} from "./state_cache.ts";

/** A state deserves a snapshot this many stored bytes after its base, or its own size if larger. */
const SNAPSHOT_BYTES_MIN = 64 * 1024;

export interface AggregateReader {
  /** Runs heavy folds, and computes projection rows from heavy states. */
  readonly compute: ComputeRunner;
  readAggregate(tenant: Tenant, request: ReadAggregateRequest): Promise<Outcome<AggregateView>>;
  /** The state of one stream, reading at most `bytesMax` of events; undefined without events. */
  readState(
    tenant: number,
    stream: StreamKey,
    type: CompiledAggregateType,
    options: { readonly synchronous: boolean; readonly bytesMax: number },
  ): Promise<Outcome<StateRead | undefined>>;
  /** The same, with the head that the state belongs to; without events, the empty state. */
  readFolded(
    tenant: number,
    stream: StreamKey,
    type: CompiledAggregateType,
    options: { readonly synchronous: boolean; readonly bytesMax: number },
  ): Promise<Outcome<FoldRead>>;
  /** The same within the caller's transaction at a head that it has read, if it takes little. */
  readonly readSmallAt: SmallHeadReader;
  /**
   * Caches the state after a write, so that the next read begins with it. `before` is the state
   * that the write began with.
   */
  keepState(
    tenant: number,
    stream: StreamKey,
    type: CompiledAggregateType,
    change: StateChange,
  ): void;
}

export interface StateChange {
  readonly before: Pick<FoldedState, "bytes">;
  readonly after: FoldedState;
  /** The state before, if it is in memory. */
  readonly known?: FoldedState;
}

export interface FoldRead {
  readonly head: StreamHead;
  readonly stateJson: string;
  readonly bytesRead: number;
}

/** The same with a state as it is at hand. */
type AnyFoldRead = Omit<FoldRead, "stateJson"> & { readonly state: StateJson };

interface FoldLimits {
  readonly synchronous: boolean;
  readonly bytesMax: number;
  /** Fold only that many events, at least one. */
  readonly atLength?: number;
}

export interface StateRead {
  readonly view: AggregateView;
  /** The stored bytes of events that were read for it. */
  readonly bytesRead: number;
}

export interface AggregateReaderParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
  readonly cache: StateCache;
  readonly onSnapshotDue: (
    tenant: number,
    stream: StreamKey,
    foldHash: string,
    state: FoldedState,
  ) => void;
  readonly runners: HandlerRunners;
  readonly counters?: Counters;
}

/** `onSnapshotDue` receives states that background work may store; it must not block. */
export function createAggregateReader(
  { engine, host, specs, cache, onSnapshotDue, runners, counters = newCounters() }:
    AggregateReaderParts,
): AggregateReader {
  const tools = { engine, host, ...runners };
  const marks = openLogMarks(engine, host.monotonicMs);
  const foldShared = shareFolds(tools);
  const loadShared = shareLoads(engine, host);

  async function readAggregate(
    tenant: Tenant,
    request: ReadAggregateRequest,
  ): Promise<Outcome<AggregateView>> {
    const spec = await specs.current(tenant.number);
    const located = locateStream(spec, request.aggregateType, request.id);
    if (!located.ok) return located;
    const { type, key, singleton } = located.value;
    const { synchronous, atSeconds, atLength } = request;
    const bytesMax = limits.foldBytesMax;
    const read = atLength !== undefined
      ? await readStateAfter(tenant.number, key, type, { synchronous, bytesMax, atLength })
      : atSeconds === undefined
      ? await readState(tenant.number, key, type, { synchronous, bytesMax })
      : await readStateAt(tenant.number, key, type, atSeconds);
    if (!read.ok) return read;
    if (read.value !== undefined) return accept(read.value.view);
    if (!singleton) return refuse({ kind: "aggregate_missing" });
    return atLength ? refuseLength(0, atLength) : accept(EMPTY_STATE);
  }

  async function readState(
    ...[tenant, stream, type, options]: Parameters<AggregateReader["readState"]>
  ): Promise<Outcome<StateRead | undefined>> {
    const cached = findCached(tenant, stream, type, options);
    const unchanged = cached &&
      (viewUnchanged(cached, type.foldHash) ?? await viewMarked(cached, type.foldHash));
    if (unchanged !== undefined) return accept({ view: unchanged, bytesRead: 0 });
    const version = engine.durableVersion();
    const mark = type.cached && !options.synchronous ? marks.mark(tenant, stream) : undefined;
    const read = await foldFrom(cached, { tenant, stream, type }, options);
    if (!read.ok) return read;
    const { head, state, bytesRead } = read.value;
    if (head.length === 0) return ACCEPTED;
    if (cached !== undefined) noteSeen(cached, head, version);
    if (mark !== undefined) noteMarked(findCached(tenant, stream, type, options), head, mark);
    return accept({ view: viewOfState(state, head, type.foldHash), bytesRead });
  }

  async function readFolded(
    ...[tenant, stream, type, options]: Parameters<AggregateReader["readFolded"]>
  ): Promise<Outcome<FoldRead>> {
    const cached = findCached(tenant, stream, type, options);
    const read = await foldFrom(cached, { tenant, stream, type }, options);
    if (!read.ok) return read;
    const { state, ...about } = read.value;
    return accept({ ...about, stateJson: await textOfState(state, openPieces(host).rest) });
  }

  async function foldFrom(
    cached: CachedState | undefined,
    { tenant, stream, type }: Pick<FoldWork, "tenant" | "stream" | "type">,
    { synchronous, bytesMax, atLength }: FoldLimits,
  ): Promise<Outcome<AnyFoldRead>> {
    const caching = type.cached && !synchronous;
    return await untilUnmoved(async () => {
      const newest = await engine.snapshot((tx) => readHead(tx, tenant, stream));
      if (newest.length === 0) return accept(foldRead(newest, "{}", 0));
      if (atLength !== undefined && atLength > newest.length) {
        return refuseLength(newest.length, atLength);
      }
      const head = atLength === undefined
        ? newest
        : await engine.snapshot((tx) => readHeadAfter(tx, tenant, stream, { newest, atLength }));
      if (head === undefined) return undefined;
      // A state of the past would only displace a newer one.
      const remembers = caching && head.length === newest.length;
      const base = caching
        ? usableOf(cached ?? cache.get(tenant, stream, type.foldHash), head) ??
          await findStored(tenant, stream, type.foldHash, head)
        : undefined;
      if (base === undefined) count(counters.stateReads, "events");
      if (base?.length === head.length) return accept(foldRead(head, stateOfBase(base), 0));
      const whole: FoldWork = { tenant, stream, type, head, base };
      const work = head === newest ? whole : await measureFold(tools, whole, bytesMax);
      const bytes = bytesToFold(work);
      if (bytes > bytesMax) return refuseBudget(bytes, bytesMax, synchronous);
      const name = { tenant, stream, foldHash: type.foldHash, generation: head.generation };
      const fold = { ...name, from: base?.length ?? 0, to: head.length };
      const known = cache.refusal(fold);
      if (known !== undefined) return refuse(known);
      const folded = await (caching
        ? foldShared(work, (part) =>
          remembers && remember(work, part))
        : foldStream(tools, work));
      if (folded === undefined) return undefined;
      if (!folded.ok) {
        // A module's result may depend on the moment, so its refusals are not cached.
        if (type.wasmHandlers.size === 0 && isFinal(folded.refusal)) {
          cache.refuse(fold, folded.refusal);
        }
        return folded;
      }
      if (remembers) remember(work, folded.value);
      return accept(foldRead(head, folded.value.stateJson, bytes));
    });
  }

  /** The state after the first events, as many as `atLength`. */
  async function readStateAfter(
    tenant: number,
    stream: StreamKey,
    type: CompiledAggregateType,
    options: FoldLimits & { readonly atLength: number },
  ): Promise<Outcome<StateRead | undefined>> {
    if (options.atLength === 0) {
      const head = await engine.snapshot((tx) => readHead(tx, tenant, stream));
      return accept(head.length === 0 ? undefined : { view: EMPTY_STATE, bytesRead: 0 });
    }
    const read = await foldFrom(undefined, { tenant, stream, type }, options);
    if (!read.ok) return read;
    const { head, state, bytesRead } = read.value;
    if (head.length === 0) return ACCEPTED;
    return accept({ view: viewOfState(state, head, type.foldHash), bytesRead });
  }

  function findCached(
    ...[tenant, stream, type, { synchronous }]: Parameters<AggregateReader["readFolded"]>
  ): CachedState | undefined {
    return type.cached && !synchronous ? cache.get(tenant, stream, type.foldHash) : undefined;
  }

  /** The cached state, if nothing has been written to the store since it was found complete. */
  function viewUnchanged(
    { seen, stateJson, length, generation }: CachedState,
    foldHash: string,
  ): AggregateView | undefined {
    if (seen === undefined || seen.version !== engine.durableVersion()) return undefined;
    count(counters.stateReads, "memory");
    return viewOfState(stateJson, { ...seen, length, generation }, foldHash);
  }

  /**
   * Marks a cached state as complete. `version`: the store's version before the head was read;
   * the state is marked only if the store still has it.
   */
  function noteSeen(cached: CachedState, head: StreamHead, version: number | undefined): void {
    if (version === undefined || version !== engine.durableVersion()) return;
    if (cached.length !== head.length || !isUsable(cached, head)) return;
    cached.seen = { version, createdAt: head.createdAt, updatedAt: head.updatedAt };
  }

  /** The cached state, if nothing has happened to its stream since its head was read. */
  async function viewMarked(
    { marked, stateJson, length, generation }: CachedState,
    foldHash: string,
  ): Promise<AggregateView | undefined> {
    if (marked === undefined || !await marks.stands(marked.mark)) return undefined;
    count(counters.stateReads, "memory");
    return viewOfState(stateJson, { ...marked, length, generation }, foldHash);
  }

  /** Caches a folded state for the next read. */
  function remember({ tenant, stream, type, base }: FoldWork, state: FoldedState): void {
    cache.set(tenant, stream, type.foldHash, state);
    const bytes = state.bytes - (base?.bytes ?? 0);
    if (bytes < Math.max(SNAPSHOT_BYTES_MIN, state.stateJson.length)) return;
    onSnapshotDue(tenant, stream, type.foldHash, state);
  }

  function keepState(
    tenant: number,
    stream: StreamKey,
    type: CompiledAggregateType,
    { before, after, known }: StateChange,
  ): void {
    if (!type.cached) return;
    if (!cache.follow(known, after)) cache.set(tenant, stream, type.foldHash, after);
    // Writes arrive one at a time: ask for a snapshot each time they pass another `size` bytes.
    const size = Math.max(SNAPSHOT_BYTES_MIN, after.stateJson.length);
    if (Math.floor(after.bytes / size) === Math.floor(before.bytes / size)) return;
    onSnapshotDue(tenant, stream, type.foldHash, after);
  }

  /** The cached state, if it belongs to this stream's generation and is not ahead of the head. */
  function usableOf(cached: CachedState | undefined, head: StreamHead): CachedState | undefined {
    if (cached === undefined || !isUsable(cached, head)) return undefined;
    count(counters.stateReads, "memory");
    return cached;
  }

  /** The newest usable snapshot in the store. */
  async function findStored(
    tenant: number,
    stream: StreamKey,
    foldHash: string,
    head: StreamHead,
  ): Promise<FoldBase | undefined> {
    // Only a stream that has once reached this size can have a snapshot.
    if (head.bytes < SNAPSHOT_BYTES_MIN) return undefined;
    const stored = await loadShared({ tenant, stream, foldHash }, head);
    if (stored === undefined) return undefined;
    count(counters.stateReads, "snapshot");
    return stored;
  }

  /** Folds the events with a timestamp up to `atSeconds`, in stream order from the first one. */
  async function readStateAt(
    tenant: number,
    stream: StreamKey,
    type: CompiledAggregateType,
    atSeconds: number,
  ): Promise<Outcome<StateRead | undefined>> {
    return await untilUnmoved(async () => {
      const head = await engine.snapshot((tx) => readHead(tx, tenant, stream));
      if (head.bytes > limits.foldBytesMax) {
        return refuseBudget(head.bytes, limits.foldBytesMax, true);
      }
      let seen = { length: 0, createdAt: 0, updatedAt: 0 };
      const work: FoldWork = { tenant, stream, type, head, base: undefined };
      function isWanted({ metadata: { timestamp } }: StoredEvent): boolean {
        if (timestamp > atSeconds) return false;
        const createdAt = seen.length === 0 ? timestamp : seen.createdAt;
        seen = { length: seen.length + 1, createdAt, updatedAt: timestamp };
        return true;
      }
      function filter() {
        seen = { length: 0, createdAt: 0, updatedAt: 0 };
        return isWanted;
      }
      const endMs = host.monotonicMs() + limits.wasmRequestMsMax;
      const options = { purpose: "read", filter } as const;
      let dataJson: Outcome<string> = accept("{}");
      for await (const step of foldInSteps(tools, work, options)) {
        if (!step.ok) return step;
        const { length, stateJson } = step.value;
        if (length === head.length) dataJson = stateJson();
        else if (type.wasmHandlers.size > 0 && host.monotonicMs() > endMs) {
          return refuseSlowModules(head.bytes);
        }
      }
      if (await wasRewritten(engine, tenant, stream, head)) return undefined;
      if (seen.length === 0) return ACCEPTED;
      if (!dataJson.ok) return dataJson;
      return accept({ view: { dataJson: dataJson.value, ...seen }, bytesRead: head.bytes });
    });
  }

  const small = openSmallReader(cache, counters, host);
  const { compute } = runners;
  return { compute, readAggregate, readState, readFolded, ...small, keepState };
}

function foldRead(head: StreamHead, state: StateJson, bytesRead: number): AnyFoldRead {
  return { head, state, bytesRead };
}

function refuseLength(length: number, asked: number) {
  return refuse({ kind: "beyond_length", length, asked });
}

/** Whether the same fold would be refused again. */
function isFinal(refusal: Refusal): boolean {
  return refusal.kind === "fold_budget_exceeded" && refusal.isOfTheMoment === undefined;
}
