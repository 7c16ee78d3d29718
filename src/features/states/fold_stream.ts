/**
 * Folds a stream up to its head.
 *
 * It starts from the newest usable state (from memory, else a snapshot, else the empty state)
 * and reads the events in bounded chunks. See docs/reference/reading.md.
 */

import { decodeEvent, type StoredEvent } from "../../domain/event.ts";
import { nameCostOf } from "../../domain/json_text/name_cost.ts";
import { limits } from "../../domain/limits.ts";
import { openPieces, waitForSharedTurn } from "../../domain/fairness/pieces.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { CompiledAggregateType } from "../../domain/spec/compiled.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { CallPurpose } from "../../domain/wasm/trace.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { type IndexedEvent, readEvents } from "../../store/streams/stream_events.ts";
import { textOfState } from "../../store/streams/state_parts.ts";
import { readHead } from "../../store/streams/streams.ts";
import {
  beginFold,
  decodeInTime,
  EVENT_BYTES_HERE_MAX,
  type HandlerRunners,
  openQuickFold,
  openSliceSize,
  refuseSlowModules,
  type SliceSize,
  STATE_CHARACTERS_HERE_MAX,
} from "./fold_steps.ts";
import {
  type FoldBase,
  type FoldedState,
  foldToBytes,
  foldToText,
  stateOfBase,
  textOfBase,
} from "./folded_state.ts";
import type { FoldOrder } from "./run_compute.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

/** The input of a fold. */
export interface FoldWork {
  readonly tenant: number;
  readonly stream: StreamKey;
  readonly type: CompiledAggregateType;
  readonly head: StreamHead;
  /** The state to begin with; undefined: begin at the first event. */
  readonly base: FoldBase | undefined;
}

/**
 * A fold of more takes milliseconds, so it waits for turns of its instance. Otherwise many of them
 * would run in one turn: those that begin together, or whose events a cluster sends together.
 */
const SHORT_FOLD_BYTES_MAX = 16 * 1024;
/** The stored bytes that are decoded and folded at a time. */
const CHUNK_BYTES = 64 * 1024;
/** The same for a fold in a process. */
const JOB_CHUNK_BYTES = 192 * 1024;
/** How often a read restarts because its stream was rewritten meanwhile. */
const RESTARTS_MAX = 5;

/** The stored bytes that folding `work` would read. */
export function bytesToFold({ head, base }: Pick<FoldWork, "head" | "base">): number {
  return head.bytes - (base?.bytes ?? 0);
}

const READ_PLAINLY = "Read it without `synchronous` and `at`, which fold every event: a plain " +
  "read begins with the last snapshot";

/**
 * `isFromFirst`: the caller asked to fold every event, although a snapshot may cover most of
 * them.
 */
export function refuseBudget(bytes: number, limit: number, isFromFirst: boolean) {
  const message = `Reading this aggregate takes ${bytes} bytes of events, more than the budget ` +
    `of ${limit}. A rebuild in the background makes it readable again`;
  const hint = isFromFirst ? READ_PLAINLY : undefined;
  return refuse({ kind: "fold_budget_exceeded", message, bytes, limit, hint });
}

/** The tools of a fold: the store that holds the events, and the runners of handlers. */
export interface FoldTools extends HandlerRunners {
  readonly engine: Engine;
  readonly host: Host;
}

/** An intermediate state on the way to the head. */
export interface FoldStep {
  readonly length: number;
  readonly bytes: number;
  readonly stateJson: () => Outcome<string>;
  /** The bytes of that text, if they are there anyway. */
  readonly stateUtf8?: Uint8Array<ArrayBuffer>;
}

export interface FoldOptions {
  readonly purpose: CallPurpose;
  /** The stored bytes of one step, if it runs in a process. Absent: one step to the head. */
  readonly stepBytes?: number;
  /**
   * Makes a filter that drops the events for which it returns false. A fold that restarts makes
   * a new one.
   */
  readonly filter?: () => (event: StoredEvent) => boolean;
}

/**
 * Folds up to the head and yields the state after each step; ends at the first refusal. A small
 * fold is tried in this thread. If it takes too long, a process starts again from the
 * beginning.
 */
export async function* foldInSteps(
  tools: FoldTools,
  work: FoldWork,
  options: FoldOptions,
): AsyncGenerator<Outcome<FoldStep>> {
  if (work.type.wasmHandlers.size > 0) return yield* foldWithModules(tools, work, options);
  if (isQuick(work)) {
    const quick = await foldHere(tools, work, options);
    if (quick !== undefined) return yield quick;
  }
  yield* foldElsewhere(tools, work, options);
}

function isQuick(work: FoldWork): boolean {
  const { base } = work;
  if (base !== undefined && stateOfBase(base).length > STATE_CHARACTERS_HERE_MAX) return false;
  return bytesToFold(work) <= EVENT_BYTES_HERE_MAX;
}

/** Undefined if it takes more than one time slice. */
async function foldHere(
  { engine, host, compute }: FoldTools,
  work: FoldWork,
  { filter = keepAll }: FoldOptions,
): Promise<Outcome<FoldStep> | undefined> {
  const { tenant, type, base } = work;
  const isWanted = filter();
  const isShort = bytesToFold(work) <= SHORT_FOLD_BYTES_MAX;
  const instanceId = isShort ? undefined : await compute.instanceOf(tenant);
  // Before the first read, too: what has been read and waits takes memory.
  if (instanceId !== undefined) await waitForSharedTurn(host, instanceId);
  const { take, stateJson } = openQuickFold(host, type, textOfBase(base));
  const reached = openCount(base);
  for await (const stored of storedChunks(engine, host, work, CHUNK_BYTES)) {
    if (instanceId !== undefined) await waitForSharedTurn(host, instanceId);
    const events = decodeInTime(host, stored);
    if (events === undefined) {
      // Names may be the reason: see `name_cost.ts`.
      nameCostOf(host).beWary();
      return undefined;
    }
    const folded = take(events.filter(isWanted));
    if (!folded?.ok) return folded;
    reached.add(stored);
  }
  return accept({ ...reached.now(), stateJson });
}

/** Runs one process job after another, each from the state that the last one reached. */
async function* foldElsewhere(
  tools: FoldTools,
  work: FoldWork,
  options: FoldOptions,
): AsyncGenerator<Outcome<FoldStep>> {
  const { tenant, head } = work;
  for (let base = work.base; (base?.length ?? 0) < head.length;) {
    const job = openFoldJob(tools, { ...work, base }, options);
    const folded = options.purpose === "rebuild"
      ? await foldToBytes(tools.compute, tenant, job.order)
      : await foldToText(tools.compute, tenant, job.order);
    if (!folded.ok) return yield folded;
    const now = job.reached();
    if (now.length === (base?.length ?? 0)) return;
    base = { ...now, generation: head.generation, ...folded.value.state };
    yield accept({ ...now, ...folded.value.step });
  }
}

/** One job: the events from the base on, as many as fit into one step. */
function openFoldJob(
  { engine, host }: FoldTools,
  work: FoldWork,
  { filter, stepBytes = Infinity }: FoldOptions,
) {
  const { stream, type, base } = work;
  let count = openCount(base);

  async function* events(): AsyncGenerator<string[]> {
    const isWanted = filter?.();
    // The events may be read more than once.
    count = openCount(base);
    for await (const stored of storedChunks(engine, host, work, JOB_CHUNK_BYTES)) {
      const texts = stored.map(({ raw }) => raw);
      yield isWanted ? texts.filter((raw) => isWanted(decodeEvent(raw))) : texts;
      count.add(stored);
      if (count.now().bytes - (base?.bytes ?? 0) >= stepBytes) return;
    }
  }

  const bytes = Math.min(stepBytes, bytesToFold(work));
  const order: FoldOrder = { stream, type, base: base && stateOfBase(base), events, bytes };
  return { order, reached: () => count.now() };
}

async function* foldWithModules(
  tools: FoldTools,
  work: FoldWork,
  { purpose, filter = keepAll }: FoldOptions,
): AsyncGenerator<Outcome<FoldStep>> {
  const { type, tenant, stream, base } = work;
  const text = base && await textOfState(stateOfBase(base), openPieces(tools.host).rest);
  const { stateJson, take } = beginFold(tools, { tenant, stream, type, base: text, purpose });
  const size = openSliceSize(tools.host, purpose === "rebuild");
  const isWanted = filter();
  const reached = openCount(base);
  for await (const chunk of eventChunks(tools.engine, tools.host, work, CHUNK_BYTES)) {
    for (const slice of slicesOf(chunk, size)) {
      const folded = await take(keepWanted(slice, isWanted));
      if (!folded.ok) return yield folded;
      reached.add(slice.stored);
      yield accept({ ...reached.now(), stateJson });
    }
  }
}

function keepAll() {
  return () => true;
}

function keepWanted({ stored, events }: EventChunk, isWanted: (event: StoredEvent) => boolean) {
  // Call the filter once for each event: it may count its calls.
  const isKept = events.map(isWanted);
  const keep = (_: unknown, index: number) => isKept[index]!;
  return { stored: stored.filter(keep), events: events.filter(keep) };
}

/** Counts how far a fold has come. */
function openCount(base: FoldBase | undefined) {
  let length = base?.length ?? 0;
  let bytes = base?.bytes ?? 0;
  return {
    now: () => ({ length, bytes }),
    add(stored: readonly IndexedEvent[]): void {
      length += stored.length;
      for (const event of stored) bytes += event.bytes;
    },
  };
}

function* slicesOf({ stored, events }: EventChunk, size: SliceSize): Generator<EventChunk> {
  for (let at = 0; at < events.length;) {
    const end = at + size.next();
    yield { stored: stored.slice(at, end), events: events.slice(at, end) };
    at = end;
  }
}

/**
 * Folds up to the head. The caller has compared {@link bytesToFold} with its budget. Returns
 * undefined if the stream was rewritten meanwhile: everything read is then void, and the caller
 * must start again from a fresh head. If modules take longer than a request may, `onPart` gets
 * the state reached.
 */
export async function foldStream(
  tools: FoldTools,
  work: FoldWork,
  onPart: (state: FoldedState) => void = () => {},
): Promise<Outcome<FoldedState> | undefined> {
  const { engine, host } = tools;
  const { tenant, stream, type, head, base } = work;
  const endMs = type.wasmHandlers.size === 0
    ? Infinity
    : host.monotonicMs() + limits.wasmRequestMsMax;
  let last: FoldStep | undefined;
  let isLate = false;
  for await (const step of foldInSteps(tools, work, { purpose: "read" })) {
    if (!step.ok) return step;
    last = step.value;
    isLate = endMs < Infinity && last.length < head.length && host.monotonicMs() > endMs;
    if (isLate) break;
  }
  if (await wasRewritten(engine, tenant, stream, head)) return undefined;
  const stateJson = last === undefined ? accept(textOfBase(base) ?? "{}") : last.stateJson();
  if (!stateJson.ok) return stateJson;
  const { length, bytes } = last ?? head;
  const state = { length, bytes, generation: head.generation, stateJson: stateJson.value };
  if (!isLate) return accept(state);
  onPart(state);
  return refuseSlowModules(bytesToFold(work));
}

/** As {@link foldStream}, but concurrent requests for the same state share one fold. */
export function shareFolds(
  tools: FoldTools,
): (work: FoldWork, onPart: (state: FoldedState) => void) => ReturnType<typeof foldStream> {
  const running = new TextMap<ReturnType<typeof foldStream>>();

  return function foldShared(work, onPart) {
    const { tenant, stream, type, head } = work;
    const name = `${tenant}/${stream}/${type.foldHash}/${head.generation}/${head.length}`;
    const joined = running.get(name);
    if (joined !== undefined) return joined;
    const started = foldStream(tools, work, onPart).finally(() => running.delete(name));
    running.set(name, started);
    return started;
  };
}

/** Consecutive events, as stored and decoded. */
interface EventChunk {
  readonly stored: readonly IndexedEvent[];
  readonly events: readonly StoredEvent[];
}

/** The decoded events between base and head, about `bytesMax` at a time. */
async function* eventChunks(
  ...parts: Parameters<typeof storedChunks>
): AsyncGenerator<EventChunk> {
  for await (const stored of storedChunks(...parts)) yield decodeChunk(stored);
}

function decodeChunk(stored: readonly IndexedEvent[]): EventChunk {
  return { stored, events: stored.map(({ raw }) => decodeEvent(raw)) };
}

/** The events between base and head as they are stored. Yields to other work. */
async function* storedChunks(
  engine: Engine,
  host: Host,
  { tenant, stream, head, base }: FoldWork,
  bytesMax: number,
): AsyncGenerator<readonly IndexedEvent[]> {
  let from = base?.length ?? 0;
  const pieces = openPieces(host);
  while (from < head.length) {
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
    const { length: to, generation } = head;
    const window = { from, to, bytesMax, generation };
    const stored = await engine.snapshot((tx) => readEvents(tx, tenant, stream, window));
    if (stored.length === 0) return;
    yield stored;
    from = stored.at(-1)!.index + 1;
  }
}

/**
 * The same work with the bytes of its own events, where the head is cut off at an earlier length.
 * Counting ends above `bytesMax`. Where all events are few, their bytes are good enough.
 */
export async function measureFold(
  { engine, host }: FoldTools,
  work: FoldWork,
  bytesMax: number,
): Promise<FoldWork> {
  if (bytesToFold(work) <= Math.min(EVENT_BYTES_HERE_MAX, bytesMax)) return work;
  const from = work.base?.bytes ?? 0;
  let bytes = from;
  for await (const stored of storedChunks(engine, host, work, JOB_CHUNK_BYTES)) {
    for (const event of stored) bytes += event.bytes;
    if (bytes - from > bytesMax) break;
  }
  return { ...work, head: { ...work.head, bytes } };
}

/**
 * Repeats `attempt` while it returns undefined, which means that the stream was rewritten
 * meanwhile.
 */
export async function untilUnmoved<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < RESTARTS_MAX; tries++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new Error("The stream was rewritten again and again while it was read");
}

/** Whether the stream has been rewritten since `head` was read. */
export async function wasRewritten(
  engine: Engine,
  tenant: number,
  stream: StreamKey,
  head: StreamHead,
): Promise<boolean> {
  const now = await engine.snapshot((tx) => readHead(tx, tenant, stream));
  return now.generation !== head.generation;
}
