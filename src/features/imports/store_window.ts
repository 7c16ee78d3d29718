/**
 * Stores a window in bounded transactions. Each transaction also stores how far the import is,
 * so after a crash the record matches what is stored. Others may write to the same streams: an
 * imported event is appended after what is there, in one order with theirs.
 *
 * Events with module handlers are judged beforehand, like any write (`judge_writes.ts`).
 */

import { count, type Counters } from "../../domain/measures/counters.ts";
import type { FilePlace, ImportRecord } from "../../domain/import/progress.ts";
import { limits } from "../../domain/limits.ts";
import { type Refusal, refuse } from "../../domain/refusal.ts";
import type { Transaction } from "../../kv/engine.ts";
import { readEpoch } from "../../store/streams/audit_cuts.ts";
import { readImport, storeImport } from "../../store/imports.ts";
import { addToLog, type LogEntry } from "../../store/feed/commit_log.ts";
import { openStreams } from "../../store/streams/streams.ts";
import type { WatchedTypesReader } from "../../store/reactions/watched_types.ts";
import { logEntries } from "../writes/append_writes.ts";
import {
  foldTarget,
  readStreamState,
  type SceneParts,
  type StreamState,
} from "../writes/judge_scene.ts";
import type { PreparedTarget } from "../writes/prepared_write.ts";
import type { ImportFault } from "./collect_window.ts";
import { cutWindow, type ImportWindow, type WindowSlice } from "./import_window.ts";

export interface StoreParts extends SceneParts {
  readonly counters: Counters;
  readonly watched: WatchedTypesReader;
}

/** Attempts to judge events while others keep writing to their stream. */
const TRIES_MAX = 20;
/** Events of one stream that modules judge within the time limit of one request. */
const JUDGED_TOGETHER_MAX = 200;
const RETRY_AFTER_MS = 1_000;

export interface WindowToStore {
  readonly before: ImportRecord;
  readonly window: ImportWindow;
  readonly bytesMax: number;
  readonly onStored: (record: ImportRecord) => void;
}

/**
 * Stores the rest of `window`, about `bytesMax` per transaction, and calls `onStored` with the
 * record after each. Returns the fault that stopped it, if any.
 */
export async function storeWindow(
  parts: StoreParts,
  tenant: number,
  { before, window, bytesMax, onStored }: WindowToStore,
): Promise<ImportFault | undefined> {
  let record = before;
  let done = before.window?.done ?? 0;
  for (const slices of piecesOf(window, done, bytesMax)) {
    const events = slices.reduce((sum, { from, to }) => sum + to - from, 0);
    done += events;
    const reached = done === window.events ? endOf(window) : inside(window.end, done);
    const written = record.written + events;
    const next = { ...record, ...reached, written, updatedMs: parts.host.nowMs() };
    const fault = await storePiece(parts, tenant, slices, next);
    if (fault !== undefined) return fault;
    count(parts.counters.eventsWritten, "imported", events);
    record = next;
    onStored(record);
  }
  return undefined;
}

/** Yields at least one piece, so that passing a window without events is recorded as well. */
function* piecesOf(window: ImportWindow, done: number, bytesMax: number) {
  if (window.events === done) yield [];
  else yield* cutWindow(window, done, bytesMax);
}

function endOf({ end, lines, isLast }: ImportWindow) {
  return { place: end, lines, isComplete: isLast, window: undefined };
}

function inside(end: FilePlace, done: number) {
  return { window: { ...end, done } };
}

/** What the events of the slices store. */
function bytesOf(slices: readonly WindowSlice[]): number {
  let sum = 0;
  for (const { stream: { events }, from, to } of slices) {
    for (let index = from; index < to; index++) sum += events[index]!.bytes;
  }
  return sum;
}

type Stored = "stored" | "taken_over" | "moved";

async function storePiece(
  parts: StoreParts,
  tenant: number,
  slices: readonly WindowSlice[],
  next: ImportRecord,
): Promise<ImportFault | undefined> {
  for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
    const judged = await judgeSlices(parts, tenant, slices);
    if (!judged.ok) return judged.fault;
    const stored = await parts.engine.transact(
      (tx) =>
        appendSlices(tx, tenant, {
          watchedTypes: parts.watched,
          slices,
          verdicts: judged.verdicts,
          next,
        }),
      { owner: tenant, bytes: bytesOf(slices) },
    );
    if (stored === "stored") {
      for (const [{ stream: { key, owner } }, { before, after }] of judged.verdicts) {
        parts.reader.keepState(tenant, key, owner, { before, after });
      }
      return undefined;
    }
    if (stored === "taken_over") {
      const message = "Another request goes on with this import";
      return refuse({ kind: "import_conflict", reason: "taken_over", message });
    }
  }
  const message = "Others write to these aggregates faster than their handlers can judge";
  return refuse({ kind: "modules_unavailable", message, retryAfterMs: RETRY_AFTER_MS });
}

/** What the handlers have accepted: the state before the events and the state after them. */
interface Verdict {
  readonly before: StreamState;
  readonly after: StreamState;
}

type Verdicts = ReadonlyMap<WindowSlice, Verdict>;

interface SlicesToAppend {
  readonly watchedTypes: WatchedTypesReader;
  readonly slices: readonly WindowSlice[];
  readonly verdicts: Verdicts;
  readonly next: ImportRecord;
}

async function appendSlices(
  tx: Transaction,
  tenant: number,
  { watchedTypes, slices, verdicts, next }: SlicesToAppend,
): Promise<Stored> {
  const [record, epoch, watched, streams] = await Promise.all([
    readImport(tx, tenant, next.id),
    readEpoch(tx, tenant),
    watchedTypes.read(tx, tenant),
    openStreams(tx, tenant, slices.map(({ stream }) => stream.key)),
  ]);
  if (record?.run !== next.run) return "taken_over";
  for (const [number, slice] of slices.entries()) {
    const verdict = verdicts.get(slice);
    if (verdict && verdict.before.tip !== streams[number]!.head.tip) return "moved";
  }
  const log: LogEntry[] = [];
  for (const [number, { stream, from, to }] of slices.entries()) {
    const appender = streams[number]!;
    const { events, timestamps } = stream;
    const whole = from === 0 && to === events.length;
    const some = whole ? events : events.slice(from, to);
    const [begin, end] = [timestamps[from]!, timestamps[to - 1]!];
    addToLog(log, stream.key, appender.append(some, end, begin), some.length);
    appender.flush(epoch);
  }
  if (log.length > 0) await logEntries(tx, tenant, log, watched);
  storeImport(tx, tenant, next);
  return "stored";
}

type Judged =
  | { readonly ok: true; readonly verdicts: Verdicts }
  | { readonly ok: false; readonly fault: ImportFault };

async function judgeSlices(
  parts: StoreParts,
  tenant: number,
  slices: readonly WindowSlice[],
): Promise<Judged> {
  const verdicts = new Map<WindowSlice, Verdict>();
  for (const slice of slices) {
    if (!slice.stream.isJudged) continue;
    const judged = await judgeSlice(parts, tenant, slice);
    if ("refusal" in judged) return { ok: false, fault: judged };
    verdicts.set(slice, judged);
  }
  return { ok: true, verdicts };
}

async function judgeSlice(
  parts: StoreParts,
  tenant: number,
  { stream, from, to }: WindowSlice,
): Promise<ImportFault | Verdict> {
  const { key, owner, events, lines } = stream;
  const found = await readStreamState(parts.reader, tenant, key, owner);
  if (!found.ok) return faultAt(found.refusal, lines[from]!);
  let state = found.value;
  for (let at = from; at < to; at += JUDGED_TOGETHER_MAX) {
    const some = events.slice(at, Math.min(to, at + JUDGED_TOGETHER_MAX));
    const endMs = parts.host.monotonicMs() + limits.wasmRequestMsMax;
    let refused = at;
    const target: PreparedTarget = {
      ...stream,
      expected: "any",
      events: some,
      bytes: 0,
      judgedAs: owner,
    };
    const place = (index = 0) => {
      refused = at + index;
      return {};
    };
    const folded = await foldTarget(parts, tenant, target, state, { endMs, place });
    if (!folded.ok) return faultAt(folded.refusal, lines[refused]!);
    state = folded.value;
  }
  return { before: found.value, after: state };
}

function faultAt(refusal: Refusal, line: number): ImportFault {
  return { refusal, line };
}
