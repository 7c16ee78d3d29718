/**
 * Tracks the states of streams while modules judge writes to them. The states start as the
 * store has them, and each accepted write moves them on.
 */

import { extendChain } from "../../domain/audit/chain.ts";
import { decodeEvent, type EncodedEvent, type StoredEvent } from "../../domain/event.ts";
import { openPieces, type Pieces } from "../../domain/fairness/pieces.ts";
import { limits } from "../../domain/limits.ts";
import { meetsExpectedLength } from "../../domain/write/validate_write.ts";
import {
  accept,
  type FaultPlace,
  type Outcome,
  type Refusal,
  refuse,
} from "../../domain/refusal.ts";
import type { CompiledAggregateType } from "../../domain/spec/compiled.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { beginFold, type HandlerRunners, refuseSlowModules } from "../states/fold_steps.ts";
import type { FoldedState } from "../states/folded_state.ts";
import type { AggregateReader } from "../states/read_aggregate.ts";
import { answerFromEntry, readLedger } from "../../store/streams/idempotency.ts";
import type { PreparedTarget, PreparedWrite, StreamTip } from "./prepared_write.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

export interface SceneParts extends HandlerRunners {
  readonly engine: Engine;
  readonly host: Host;
  readonly reader: AggregateReader;
}

/** A stream with its state, which may not be in the store yet. */
export interface StreamState extends FoldedState, StreamTip {}

export type Verdict =
  /** The handlers have accepted it. If it is written, its streams are as in `after`. */
  | { readonly kind: "taken"; readonly write: PreparedWrite; readonly after: readonly After[] }
  /** The transaction answers the write; no module is asked. */
  | { readonly kind: "unjudged"; readonly write: PreparedWrite }
  | { readonly kind: "refused"; readonly ok: false; readonly refusal: Refusal }
  | { readonly kind: "thrown"; readonly error: unknown };

interface After {
  readonly target: PreparedTarget;
  readonly before: FoldedState;
  readonly state: StreamState;
}

export interface Scene {
  /**
   * Never throws. After an accepted write, the next one is judged on the streams as it leaves
   * them.
   */
  judge(write: PreparedWrite): Promise<Verdict>;
  /** Remembers the states after a write, once it was written. */
  keep(verdict: Extract<Verdict, { readonly kind: "taken" }>): void;
  /** The states that it and its verdicts hold. */
  characters(): number;
}

/** Matches no stream: if the transaction has no other answer for the write, it is judged again. */
const NEVER: StreamTip = { tip: "never" };
/** Events of a write that are judged before the clock is checked. */
const SLICE_EVENTS = 100;
const SLICE_BYTES_MAX = 256 * 1024;
const MS_PER_SECOND = 1_000;

/** Whether a module judges any event of the write. */
export function needsVerdict({ targets }: PreparedWrite): boolean {
  return targets.some(asksModules);
}

function asksModules({ judgedAs, events }: PreparedTarget): boolean {
  return judgedAs !== undefined && events.some(({ type }) => judgedAs.wasmHandlers.has(type));
}

export function openScene(parts: SceneParts, tenant: number): Scene {
  const streams = new TextMap<StreamState, StreamKey>();
  let characters = 0;

  async function judge(write: PreparedWrite): Promise<Verdict> {
    if (!needsVerdict(write)) return { kind: "unjudged", write };
    try {
      return await judgeKnown(write);
    } catch (error) {
      return { kind: "thrown", error };
    }
  }

  async function judgeKnown(write: PreparedWrite): Promise<Verdict> {
    if (await isInLedger(parts.engine, tenant, write)) return unjudged(write, () => NEVER);
    const judged = write.targets.filter(asksModules);
    const before = new Map<PreparedTarget, StreamState>();
    let together = 0;
    for (const target of judged) {
      const found = await find(target);
      if (!found.ok) return { kind: "refused", ...found };
      before.set(target, found.value);
      together += found.value.stateJson.length;
      if (together > limits.stateBytesMax) return { kind: "refused", ...refuseTogether() };
    }
    const isConflict = [...before].some(([{ expected }, { length }]) =>
      !meetsExpectedLength(length, expected)
    );
    // A conflict takes precedence over what a handler says.
    if (isConflict) return unjudged(write, (target) => before.get(target));
    const after: After[] = [];
    const texts = new Map<PreparedTarget, StateTexts>();
    const endMs = parts.host.monotonicMs() + limits.wasmRequestMsMax;
    for (const target of judged) {
      const place = (eventIndex?: number) => placeOf(write, target, eventIndex);
      const start = before.get(target)!;
      const states = write.conditions?.isGuarded ? openStateTexts(target, start) : undefined;
      if (states !== undefined) texts.set(target, states);
      const state = await foldTarget(parts, tenant, target, start, { endMs, place, states });
      if (!state.ok) return { kind: "refused", ...state };
      after.push({ target, before: before.get(target)!, state: state.value });
    }
    for (const { target, state } of after) {
      streams.set(target.key, state);
      characters += state.stateJson.length + (texts.get(target)?.characters() ?? 0);
    }
    const taken = guard(write, (target) => before.get(target));
    const targets = taken.targets.map((target, index) => {
      const judgedStates = texts.get(write.targets[index]!)?.texts;
      return judgedStates === undefined ? target : { ...target, judgedStates };
    });
    return { kind: "taken", write: { ...taken, targets }, after };
  }

  async function find({ key, judgedAs }: PreparedTarget): Promise<Outcome<StreamState>> {
    const known = streams.get(key);
    if (known !== undefined) return accept(known);
    const found = await readStreamState(parts.reader, tenant, key, judgedAs!);
    if (!found.ok) return found;
    streams.set(key, found.value);
    characters += found.value.stateJson.length;
    return found;
  }

  function keep({ after }: Extract<Verdict, { readonly kind: "taken" }>): void {
    for (const { target: { key, judgedAs }, before, state } of after) {
      parts.reader.keepState(tenant, key, judgedAs!, { before, after: state });
    }
  }

  return { judge, keep, characters: () => characters };
}

/** A stream as it is in the store now. */
export async function readStreamState(
  reader: AggregateReader,
  tenant: number,
  key: StreamKey,
  type: CompiledAggregateType,
): Promise<Outcome<StreamState>> {
  const options = { synchronous: false, bytesMax: limits.foldBytesMax };
  const read = await reader.readFolded(tenant, key, type, options);
  if (!read.ok) return read;
  const { head: { length, bytes, generation, tip }, stateJson } = read.value;
  return accept({ length, bytes, generation, tip, stateJson });
}

interface FoldTerms {
  /** In monotonic time. */
  readonly endMs: number;
  readonly place: (eventIndex?: number) => FaultPlace;
  /** Takes the states between the events. */
  readonly states?: StateTexts;
}

/** States before the events of a target that guards may look at, by offset, and after all. */
interface StateTexts {
  readonly texts: Map<number, string>;
  /** False if they are too long together. */
  note(offset: number, stateJson: Outcome<string>): boolean;
  characters(): number;
}

function openStateTexts(
  { events, judgedAs }: PreparedTarget,
  { stateJson }: StreamState,
): StateTexts {
  const texts = new Map([[0, stateJson]]);
  let characters = 0;
  return {
    texts,
    note(offset, stateJson) {
      const next = events[offset];
      if (!stateJson.ok || (next !== undefined && !judgedAs!.guarded?.has(next.type))) return true;
      characters += stateJson.value.length;
      texts.set(offset, stateJson.value);
      return characters <= limits.stateBytesMax;
    },
    characters: () => characters,
  };
}

function refuseTexts() {
  const limit = limits.stateBytesMax;
  const message = "The states between the events of the write are too long for their guards";
  return refuse({ kind: "fold_budget_exceeded", message, bytes: limit, limit });
}

function refuseTogether() {
  const limit = limits.stateBytesMax;
  const message = "The states that modules judge this write on are too long together";
  return refuse({ kind: "fold_budget_exceeded", message, bytes: limit, limit });
}

/** The stream after the events of `target`, or why its handlers refuse them. */
export async function foldTarget(
  tools: Pick<SceneParts, "host" | "modules" | "compute">,
  tenant: number,
  { key, events, judgedAs }: PreparedTarget,
  before: StreamState,
  { endMs, place, states }: FoldTerms,
): Promise<Outcome<StreamState>> {
  const folding = beginFold(tools, {
    tenant,
    stream: key,
    type: judgedAs!,
    base: before.stateJson,
    purpose: "write",
  });
  const pieces = openPieces(tools.host);
  const step = states === undefined ? SLICE_EVENTS : 1;
  for (let at = 0, end = 0; at < events.length; at = end) {
    if (tools.host.monotonicMs() > endMs) return refuseSlowModules(before.bytes);
    end = endOfSlice(events, at, step);
    const slice = await decodeSlice(events.slice(at, end), pieces);
    const folded = await folding.take(slice);
    if (folded.ok) {
      const isKept = states?.note(end, folding.stateJson()) ?? true;
      if (isKept) continue;
      return refuseTexts();
    }
    const { refusal, index } = folded;
    if (index === undefined) return { ok: false, refusal };
    return { ok: false, refusal: { ...refusal, ...place(at + index) } as Refusal };
  }
  const stateJson = folding.stateJson();
  if (!stateJson.ok) return stateJson;
  let { tip, bytes } = before;
  for (const event of events) {
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
    tip = extendChain(tip, event.raw);
    bytes += event.bytes;
  }
  const length = before.length + events.length;
  return accept({ length, bytes, generation: before.generation, tip, stateJson: stateJson.value });
}

/** A slice has at least one event. */
function endOfSlice(events: readonly EncodedEvent[], from: number, eventsMax: number): number {
  let end = from;
  for (let bytes = 0; end < events.length && end - from < eventsMax; end++) {
    bytes += events[end]!.bytes;
    if (end > from && bytes > SLICE_BYTES_MAX) break;
  }
  return end;
}

async function decodeSlice(stored: readonly EncodedEvent[], { rest }: Pieces) {
  const events: StoredEvent[] = [];
  for (const { raw } of stored) {
    const resting = rest();
    if (resting !== undefined) await resting;
    events.push(decodeEvent(raw));
  }
  return { stored, events };
}

function placeOf({ form, targets }: PreparedWrite, target: PreparedTarget, eventIndex?: number) {
  if (form === "single") return {};
  return form === "batch" ? { eventIndex } : { targetIndex: targets.indexOf(target), eventIndex };
}

/** Makes the write conditional: it is only written if its streams are as they were found. */
function guard(
  write: PreparedWrite,
  tipOf: (target: PreparedTarget) => StreamTip | undefined,
): PreparedWrite {
  const targets = write.targets.map((target) => {
    const found = tipOf(target);
    return found === undefined ? target : { ...target, takenAt: { tip: found.tip } };
  });
  return { ...write, targets };
}

function unjudged(write: PreparedWrite, tipOf: Parameters<typeof guard>[1]): Verdict {
  return { kind: "unjudged", write: guard(write, tipOf) };
}

/** A recorded idempotency key is answered without asking modules. See docs/reference/writing.md. */
async function isInLedger(
  engine: Engine,
  tenant: number,
  { idempotency, nowMs }: PreparedWrite,
): Promise<boolean> {
  if (idempotency === undefined) return false;
  const entry = await engine.snapshot((tx) => readLedger(tx, tenant, idempotency));
  const now = Math.floor(nowMs / MS_PER_SECOND);
  return answerFromEntry(entry, idempotency, now).kind !== "unseen";
}
