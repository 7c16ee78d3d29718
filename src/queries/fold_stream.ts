/**
 * Folds a stream up to its head: from the newest usable state (memory, then snapshot, then
 * nothing), over events read in bounded chunks. Spec: "Synchronous read / rebuild budget".
 */

import { Buffer } from "node:buffer";
import { decodeEvent, type StoredEvent } from "../domain/event.ts";
import { newFoldBudget } from "../domain/handler/budget.ts";
import { fold } from "../domain/handler/fold.ts";
import type { JsonObject } from "../domain/json.ts";
import { limits } from "../domain/limits.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import type { CompiledAggregateType } from "../domain/spec/compiled.ts";
import type { StreamKey } from "../domain/stream_key.ts";
import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import type { StreamHead } from "../store/stream_head.ts";
import { readEvents, readHead } from "../store/streams.ts";

/** A state and how far into its stream it is. */
export interface FoldedState {
  readonly length: number;
  readonly bytes: number;
  readonly generation: number;
  readonly stateJson: string;
}

/** What a fold goes by. */
export interface FoldWork {
  readonly tenant: number;
  readonly stream: StreamKey;
  readonly type: CompiledAggregateType;
  readonly head: StreamHead;
  /** Where to begin; undefined: at the first event. */
  readonly base: FoldedState | undefined;
}

/** Stored bytes decoded and folded at a time. */
const CHUNK_BYTES = 64 * 1024;
/** After so long a fold lets others in; handlers that search long lists take that long. */
const TURN_MS_MAX = 10;

/** The stored bytes that folding `work` would read. */
export function bytesToFold({ head, base }: Pick<FoldWork, "head" | "base">): number {
  return head.bytes - (base?.bytes ?? 0);
}

export function refuseBudget(bytes: number, limit: number) {
  const message = `Reading this aggregate takes ${bytes} bytes of events, more than the budget ` +
    `of ${limit}. A rebuild in the background makes it readable again`;
  return refuse({ kind: "fold_budget_exceeded", message, bytes, limit });
}

/**
 * Folds to the head. The caller has compared {@link bytesToFold} with its budget. Gives undefined
 * when the stream was rewritten meanwhile: then everything read is void, and the caller starts
 * again from a fresh head.
 */
export async function foldStream(
  engine: Engine,
  host: Host,
  work: FoldWork,
): Promise<Outcome<FoldedState> | undefined> {
  const { tenant, stream, type, head, base } = work;
  let state: JsonObject = base === undefined ? {} : JSON.parse(base.stateJson);
  const budget = newFoldBudget();
  for await (const { events } of eventChunks(engine, host, work)) {
    const folded = fold(type.handlers, state, events, budget);
    if (!folded.ok) return folded;
    state = folded.value;
  }
  if (await wasRewritten(engine, tenant, stream, head)) return undefined;
  const stateJson = encodeState(state);
  if (!stateJson.ok) return stateJson;
  const { length, bytes, generation } = head;
  return accept({ length, bytes, generation, stateJson: stateJson.value });
}

/** As {@link foldStream}, but those who want the same state at the same time share one fold. */
export function shareFolds(
  engine: Engine,
  host: Host,
): (work: FoldWork) => ReturnType<typeof foldStream> {
  const running = new Map<string, ReturnType<typeof foldStream>>();

  return function foldShared(work) {
    const { tenant, stream, type, head } = work;
    const name = `${tenant}/${stream}/${type.foldHash}/${head.generation}/${head.length}`;
    const joined = running.get(name);
    if (joined !== undefined) return joined;
    const started = foldStream(engine, host, work).finally(() => running.delete(name));
    running.set(name, started);
    return started;
  };
}

/** A folded state as JSON text, refused when it is larger than a state may be. */
export function encodeState(state: JsonObject): Outcome<string> {
  const json = JSON.stringify(state);
  const limit = limits.stateBytesMax;
  // No character takes more than three bytes, so most states need not be counted.
  const bytes = json.length * 3 <= limit ? 0 : Buffer.byteLength(json);
  if (bytes <= limit) return accept(json);
  const message = `The state is ${bytes} bytes of JSON, more than the ${limit} a state may have`;
  return refuse({ kind: "fold_budget_exceeded", message, bytes, limit });
}

/** Consecutive events, decoded, and their stored bytes. */
export interface EventChunk {
  readonly events: StoredEvent[];
  readonly bytes: number;
}

/** The decoded events between base and head, about {@link CHUNK_BYTES} at a time; takes turns. */
export async function* eventChunks(
  engine: Engine,
  host: Host,
  { tenant, stream, head, base }: FoldWork,
): AsyncGenerator<EventChunk> {
  let from = base?.length ?? 0;
  let turnBeganMs = host.nowMs();
  while (from < head.length) {
    const window = { from, to: head.length, bytesMax: CHUNK_BYTES };
    const events = await engine.snapshot((tx) => readEvents(tx, tenant, stream, window));
    if (events.length === 0) return;
    const bytes = events.reduce((sum, event) => sum + event.bytes, 0);
    yield { events: events.map(({ raw }) => decodeEvent(raw)), bytes };
    from = events.at(-1)!.index + 1;
    if (host.nowMs() - turnBeganMs < TURN_MS_MAX) continue;
    await host.yieldTurn();
    turnBeganMs = host.nowMs();
  }
}

/** True when the stream is no longer the one that `head` described. */
export async function wasRewritten(
  engine: Engine,
  tenant: number,
  stream: StreamKey,
  head: StreamHead,
): Promise<boolean> {
  const now = await engine.snapshot((tx) => readHead(tx, tenant, stream));
  return now.generation !== head.generation;
}
