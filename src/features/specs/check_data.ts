/**
 * Tries a new spec on stored data before it is deployed: stored events against its schemas, and
 * aggregates under the handlers of both specs. It reads, and writes nothing. See
 * docs/reference/check-data.md.
 *
 * The types take turns, each with a few aggregates, so that a type with many does not hide the
 * others. The work runs in time slices; folds that take long run in the processes for such folds,
 * as those of reads do. Modules run where they always do.
 */

import { decodeEvent, eventId, type StoredEvent } from "../../domain/event.ts";
import { type Clock, newBudget, newPieceBudget } from "../../domain/budget.ts";
import { openPieces, type Pieces } from "../../domain/fairness/pieces.ts";
import type { JsonObject, JsonValue } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { type DataFault, type Outcome, refuse } from "../../domain/refusal.ts";
import { parseJsonInTime } from "../../domain/parse_json_steps.ts";
import { bindBlobs } from "../../domain/spec/bind_blobs.ts";
import type { CompiledAggregateType, CompiledSpec } from "../../domain/spec/compiled.ts";
import {
  type DataCheck,
  type DataCheckDraft,
  isSameState,
  openDataCheck,
} from "../../domain/spec/data_check.ts";
import { type StreamKey, streamKey } from "../../domain/identifier.ts";
import type { Tenant } from "../../domain/tenant.ts";
import { findBlobs } from "../../store/blobs.ts";
import { listAggregateIds } from "../../store/streams/aggregates.ts";
import { readEvents } from "../../store/streams/stream_events.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { readHead } from "../../store/streams/streams.ts";
import type { SpecCache } from "../base/current_spec.ts";
import { foldInSteps, type FoldTools, wasRewritten } from "../states/fold_stream.ts";
import { foldAtOnce } from "../states/fold_steps.ts";
import { openPastJudge, type PastJudge, untriedGuards } from "./judge_past.ts";

export interface DataChecker {
  /** `next` is a spec that could be deployed. 503 if others are being checked. */
  check(tenant: Tenant, next: CompiledSpec): Promise<Outcome<DataCheck>>;
}

/** Aggregates of one type that are looked at before it is the next type's turn. */
const TURN_AGGREGATES = 16;
/** The stored bytes that are read at a time. */
const CHUNK_BYTES = 64 * 1024;
/** One check of each instance, and a few in the process: each takes its slices of the thread. */
const CHECKS_MAX = 2;

const BUSY = "Another spec is being tried on stored data; send this one again";

export function createDataChecker(tools: FoldTools, specs: SpecCache): DataChecker {
  const running = new Set<string>();
  return {
    async check({ instanceId, number }, next) {
      if (running.size >= CHECKS_MAX || running.has(instanceId)) {
        return refuse({ kind: "no_room", message: BUSY });
      }
      running.add(instanceId);
      try {
        return { ok: true, value: await checkData(tools, specs, number, next) };
      } finally {
        running.delete(instanceId);
      }
    },
  };
}

/** One check under way. */
interface Checking {
  readonly tools: FoldTools;
  readonly tenant: number;
  readonly before: CompiledSpec;
  readonly after: CompiledSpec;
  readonly draft: DataCheckDraft;
  readonly pieces: Pieces;
  readonly judge: PastJudge;
  /** Stored bytes that were read. */
  bytes: number;
  /** Aggregates that were folded. */
  folded: number;
  isOver(): boolean;
}

async function checkData(
  tools: FoldTools,
  specs: SpecCache,
  tenant: number,
  next: CompiledSpec,
): Promise<DataCheck> {
  const { engine, host } = tools;
  const references = next.moduleCalls.map(({ blob }) => blob);
  const blobs = await engine.snapshot((tx) => findBlobs(tx, tenant, references));
  const endMs = host.monotonicMs() + limits.dataCheckMsMax;
  const after = bindBlobs(next, blobs);
  const draft = openDataCheck(untriedGuards(next));
  const noteRead = (bytes: number) => void (checking.bytes += bytes);
  const pieces = openPieces(host);
  const isOver = () => checking.isOver();
  const checking: Checking = {
    tools,
    tenant,
    before: await specs.current(tenant),
    after,
    draft,
    judge: openPastJudge({
      engine,
      tenant,
      spec: after,
      draft,
      noteRead,
      pieces,
      clock: host,
      isOver,
    }),
    pieces,
    bytes: 0,
    folded: 0,
    isOver() {
      return host.monotonicMs() > endMs || this.bytes > limits.dataCheckBytesMax ||
        this.draft.events >= limits.dataCheckEventsMax;
    },
  };
  await checkTypes(checking);
  return checking.draft.end();
}

async function checkTypes(checking: Checking): Promise<void> {
  const { before, after, draft } = checking;
  const names = new Set([...before.aggregateTypes.keys(), ...after.aggregateTypes.keys()]);
  /** The types that have more, with the last aggregate that was looked at. */
  let waiting = [...names].map((name) => ({ name, start: undefined as string | undefined }));
  while (waiting.length > 0) {
    const further: typeof waiting = [];
    for (const { name, start } of waiting) {
      if (checking.isOver()) return draft.leaveOut();
      const last = await checkTurn(checking, name, start);
      if (last !== undefined) further.push({ name, start: last });
    }
    waiting = further;
  }
}

/** Looks at the next aggregates of a type; the last of them, if there may be more. */
async function checkTurn(
  checking: Checking,
  name: string,
  start: string | undefined,
): Promise<string | undefined> {
  const { tools: { engine }, tenant } = checking;
  const page = { start, limit: TURN_AGGREGATES };
  const streams = await engine.snapshot(async (tx) => {
    const ids = await listAggregateIds(tx, tenant, name, page);
    return await Promise.all(ids.map(async (id) => {
      const stream = streamKey(name, id);
      return { id, stream, head: await readHead(tx, tenant, stream) };
    }));
  });
  for (const { stream, head } of streams) await checkStream(checking, name, stream, head);
  return streams.length < TURN_AGGREGATES ? undefined : streams.at(-1)!.id;
}

async function checkStream(
  checking: Checking,
  name: string,
  stream: StreamKey,
  head: StreamHead,
): Promise<void> {
  const { draft, before, after } = checking;
  const events = await tryEvents(checking, name, stream, head);
  const [old, now] = [before.aggregateTypes.get(name), after.aggregateTypes.get(name)];
  // Of a type that only one spec has, there is nothing to compare.
  if (old === undefined || now === undefined) return;
  if (old.foldHash === now.foldHash) return draft.addSame();
  const isTooMuch = checking.folded >= limits.dataCheckFoldsMax ||
    head.bytes > limits.dataCheckStreamBytesMax || checking.isOver();
  if (isTooMuch) return draft.leaveOut();
  checking.folded++;
  const work = { stream, head, events };
  const states = [await foldUnder(checking, old, work), await foldUnder(checking, now, work)];
  const [left, right] = states;
  const { tools: { engine }, tenant } = checking;
  const isVoid = left === undefined || right === undefined ||
    await wasRewritten(engine, tenant, stream, head);
  if (isVoid) return draft.leaveOut();
  compare(checking, stream, left, right);
}

/** Tries all events of a stream. The events themselves, if they are few; otherwise undefined. */
async function tryEvents(
  checking: Checking,
  name: string,
  stream: StreamKey,
  { length, generation, bytes }: StreamHead,
): Promise<readonly StoredEvent[] | undefined> {
  const { tools: { engine }, tenant, draft, pieces } = checking;
  const type = checking.after.aggregateTypes.get(name);
  const walk = checking.judge.walk(type, stream, bytes);
  const kept: StoredEvent[] = [];
  for (let from = 0; from < length;) {
    if (checking.isOver()) {
      draft.leaveOut();
      return undefined;
    }
    const window = { from, to: length, bytesMax: CHUNK_BYTES, generation };
    const stored = await engine.snapshot((tx) => readEvents(tx, tenant, stream, window));
    // The stream was rewritten meanwhile.
    if (stored.length === 0) {
      draft.leaveOut();
      return undefined;
    }
    for (const { index, raw, bytes } of stored) {
      const event = decodeEvent(raw);
      checking.bytes += bytes;
      // Events of the platform have no schema.
      if (!event.type.startsWith("_")) {
        draft.addEvent(stream, event.type, eventId(index), faultsOf(type, event, raw.length));
      }
      await walk?.(event, eventId(index));
      kept.push(event);
      const rest = pieces.rest();
      if (rest !== undefined) await rest;
    }
    if (bytes > CHUNK_BYTES) kept.length = 0;
    from = stored.at(-1)!.index + 1;
  }
  return bytes > CHUNK_BYTES ? undefined : kept;
}

/** What a write of the event would be refused with. */
function faultsOf(
  type: CompiledAggregateType | undefined,
  { type: eventType, data }: StoredEvent,
  characters: number,
): readonly DataFault[] {
  const owner = type?.events.get(eventType);
  if (owner === undefined) return NO_SUCH_TYPE;
  const units = limits.validationUnitsMax + limits.validationUnitsPerByte * characters;
  const work = newBudget(units);
  const faults = owner.validateData(data, work);
  if (faults.length > 0) return faults;
  const located = owner.locate?.(data);
  return located === undefined || located.ok ? [] : [located.fault];
}

const NO_SUCH_TYPE: readonly DataFault[] = [{
  path: "type",
  message: "the new spec has no such event type",
}];

/** The state as JSON text, or why there is none. */
type Folded = Outcome<string>;

interface StreamToFold {
  readonly stream: StreamKey;
  readonly head: StreamHead;
  /** All its events, if they are few. */
  readonly events: readonly StoredEvent[] | undefined;
}

/** Undefined if it could not be folded now. */
async function foldUnder(
  checking: Checking,
  type: CompiledAggregateType,
  { stream, head, events }: StreamToFold,
): Promise<Folded | undefined> {
  const { tools, tenant, pieces } = checking;
  const rest = pieces.rest();
  if (rest !== undefined) await rest;
  if (events !== undefined && type.wasmHandlers.size === 0) {
    const folded = foldAtOnce(tools.host, type, undefined, events);
    if (folded.ok) return { ok: true, value: folded.value.stateJson };
  }
  checking.bytes += head.bytes;
  let reached = 0;
  let last: Folded = { ok: true, value: "{}" };
  const work = { tenant, stream, type, head, base: undefined };
  for await (const step of foldInSteps(tools, work, { purpose: "read" })) {
    if (!step.ok) return isOfTheMoment(step) ? undefined : step;
    reached = step.value.length;
    if (reached === head.length) last = step.value.stateJson();
    else if (checking.isOver()) return undefined;
  }
  return reached === head.length ? last : undefined;
}

function isOfTheMoment({ refusal }: Extract<Folded, { ok: false }>): boolean {
  return refusal.kind === "modules_unavailable" ||
    (refusal.kind === "fold_budget_exceeded" && refusal.isOfTheMoment === true);
}

function compare(
  { draft, tools: { host } }: Checking,
  key: StreamKey,
  left: Folded,
  right: Folded,
): void {
  if (left.ok && right.ok) {
    const isSame = isSameState(left.value, right.value, (text) => parseState(host, text));
    if (isSame === undefined) return draft.leaveOut();
    if (isSame) return draft.addSame();
  } else if (!left.ok && !right.ok) return draft.addSame();
  const error = left.ok ? right.ok ? undefined : textOf(right) : textOf(left);
  draft.addChanged({ key, before: stateOf(host, left), after: stateOf(host, right), error });
}

/** The state of an example; of one that takes long to read only its length. */
function stateOf(clock: Clock, folded: Folded): JsonValue {
  if (!folded.ok) return null;
  const { value: text } = folded;
  const isShort = text.length <= limits.dataCheckStateCharactersMax;
  const state = isShort ? parseState(clock, text) : undefined;
  return state ?? `... a state of ${text.length} characters`;
}

/** Undefined if it takes more than one time slice: its keys may be slow to find. */
function parseState(clock: Clock, text: string): JsonObject | undefined {
  return parseJsonInTime(text, newPieceBudget(clock).time.isLate);
}

function textOf({ refusal }: Extract<Folded, { ok: false }>): string {
  if (refusal.kind === "handler_error") {
    return `handler_error: ${refusal.error.type}: ${refusal.error.message}`;
  }
  return "message" in refusal ? `${refusal.kind}: ${refusal.message}` : refusal.kind;
}
