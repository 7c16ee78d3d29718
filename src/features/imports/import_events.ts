/**
 * Imports a file of backdated events for an operator, window by window as the file arrives. The
 * next window is checked while the one before is synced. A request with a known import id
 * resumes that import. See docs/reference/imports.md.
 *
 * Imported events set off nothing: no implications, sagas, deliveries or cancellations.
 * Everything built from events treats them like any others: states, listings, anchors and
 * readers of the commit log.
 */

import type { ImportForm, ImportRecord } from "../../domain/import/progress.ts";
import { openPieces } from "../../domain/fairness/pieces.ts";
import { limits } from "../../domain/limits.ts";
import { accept, ACCEPTED, type Outcome, refuse } from "../../domain/refusal.ts";
import { formatUuid } from "../../domain/uuid.ts";
import type { Transaction } from "../../kv/engine.ts";
import type { SpecCache } from "../base/current_spec.ts";
import { listStreams } from "../../store/streams/aggregates.ts";
import { readImport, storeImport } from "../../store/imports.ts";
import {
  checkLine,
  type Collected,
  collectWindow,
  type ImportFault,
  isSameWindow,
  type ParseLine,
  refuseOtherFile,
  type WindowBounds,
} from "./collect_window.ts";
import { STOPPING } from "./import_faults.ts";
import { type FilePieces, type LineReader, readLines } from "./read_lines.ts";
import { type StoreParts, storeWindow } from "./store_window.ts";

export interface ImportRequest {
  readonly form: ImportForm;
  readonly importId: string;
  /** Opens the file from its beginning; called twice for the form `import`. */
  readonly pieces: (stopping: AbortSignal) => FilePieces;
  readonly parse: ParseLine;
  /** Called after each transaction. */
  readonly onProgress?: (progress: ImportProgress) => void;
}

export interface ImportProgress {
  readonly record: ImportRecord;
  /** Events that this request has stored. */
  readonly written: number;
}

export type ImportOutcome =
  | { readonly ok: true; readonly progress: ImportProgress }
  /** `progress` is absent if nothing was begun. */
  | ({ readonly ok: false; readonly progress?: ImportProgress } & ImportFault);

export interface ImportParts extends StoreParts {
  readonly specs: SpecCache;
  /**
   * Aborted when the process ends: the import stops after what it has taken in, and refuses
   * pieces that still wait.
   */
  readonly stopping: AbortSignal;
}

/** Attempts to take over an import from another request that still runs it. */
const CLAIMS_MAX = 20;

const BOUNDS: Readonly<Record<ImportForm, WindowBounds>> = {
  import: { storedBytes: limits.importTransactionBytesMax },
  import_jsonl: { storedBytes: limits.importTransactionBytesMax },
  cold_start: { storedBytes: limits.coldStartWindowBytesMax },
};

/** Bytes of a window that one transaction stores; the first two forms store a window in one. */
const PIECE_BYTES: Readonly<Record<ImportForm, number>> = {
  import: Infinity,
  import_jsonl: Infinity,
  cold_start: limits.coldStartTransactionBytesMax,
};

/**
 * @throws {EngineUnavailable} if the store is unavailable; a rerun resumes after what was
 * stored.
 */
export async function importEvents(
  parts: ImportParts,
  tenant: number,
  request: ImportRequest,
): Promise<ImportOutcome> {
  const fault = request.form === "import" ? await checkAll(parts, tenant, request) : undefined;
  if (fault !== undefined) return { ok: false, ...fault };
  const reader = readLines(request.pieces(parts.stopping));
  const begun = await beginImport(parts, tenant, request, reader);
  if (!begun.ok) return parts.stopping.aborted ? STOPPING : begun;
  return await runImport(parts, tenant, { request, reader, begun: begun.value });
}

/** A body that is there as a whole is checked completely before any of it is stored. */
async function checkAll(
  { specs, host, stopping }: ImportParts,
  tenant: number,
  { pieces, parse }: ImportRequest,
): Promise<ImportFault | undefined> {
  const reader = readLines(pieces(stopping));
  const spec = await specs.current(tenant);
  const checking = openPieces(host);
  for (;;) {
    const lines = await reader.next();
    if (!lines.ok) return lines;
    const { count, text, take } = lines.value;
    if (count === 0) return undefined;
    for (let index = 0; index < count; index++) {
      const rest = checking.rest();
      if (rest !== undefined) await rest;
      const event = await checkLine(text(index), parse, spec);
      if (event?.ok === false) return { ...event, line: reader.lines + index + 1 };
    }
    take(count);
    await host.yieldTurn();
  }
}

/**
 * Finds how far the import is, verifies that the file begins as it did before, and takes over
 * the import.
 */
async function beginImport(
  { engine, host }: ImportParts,
  tenant: number,
  request: ImportRequest,
  reader: LineReader,
): Promise<Outcome<ImportRecord>> {
  const run = formatUuid(host.randomBytes(16));
  for (let attempt = 0; attempt < CLAIMS_MAX; attempt++) {
    const known = await engine.snapshot((tx) => readImport(tx, tenant, request.importId));
    const seen = await checkFile(reader, request.form, known);
    if (!seen.ok) return seen;
    const claimed = await engine.transact((tx) =>
      claim(tx, tenant, request, { known, run, nowMs: host.nowMs() })
    );
    if (claimed !== undefined) return claimed;
  }
  const message = "Another request is going on with this import";
  return refuse({ kind: "import_conflict", reason: "taken_over", message });
}

async function checkFile(
  reader: LineReader,
  form: ImportForm,
  known: ImportRecord | undefined,
): Promise<Outcome<void>> {
  if (known !== undefined && known.form !== form) {
    const message = `This import_id is that of a ${known.form}, begun at ${
      new Date(known.startedMs).toISOString()
    }`;
    return refuse({ kind: "import_conflict", reason: "other_form", message });
  }
  if (known !== undefined) {
    const isSame = await reader.skipTo(known.place, known.lines);
    if (!isSame.ok) return isSame;
    if (!isSame.value) return refuseOtherFile();
  }
  if (known !== undefined && !known.isComplete) return ACCEPTED;
  const rest = await reader.next();
  if (!rest.ok) return rest;
  if (known === undefined && rest.value.count === 0) {
    return refuse({ kind: "bad_request", message: "Request body is empty" });
  }
  return known !== undefined && rest.value.count > 0 ? refuseOtherFile() : ACCEPTED;
}

interface Claim {
  readonly known: ImportRecord | undefined;
  readonly run: string;
  readonly nowMs: number;
}

/** Returns undefined if the import has moved on since `known` was read. */
async function claim(
  tx: Transaction,
  tenant: number,
  { form, importId: id }: ImportRequest,
  { known, run, nowMs }: Claim,
): Promise<Outcome<ImportRecord> | undefined> {
  const stored = await readImport(tx, tenant, id);
  if (stored?.written !== known?.written || stored?.place.bytes !== known?.place.bytes) {
    return undefined;
  }
  if (form === "cold_start" && (stored?.written ?? 0) === 0) {
    if ((await listStreams(tx, tenant, { limit: 1 })).length > 0) return refuseNotEmpty();
  }
  const start = { place: { bytes: 0, digest: EMPTY_DIGEST }, lines: 0, written: 0 };
  const fresh = { id, form, startedMs: nowMs, isComplete: false, ...start };
  const record: ImportRecord = { ...(stored ?? fresh), run, updatedMs: nowMs };
  storeImport(tx, tenant, record);
  return accept(record);
}

/** SHA-256 of the empty string. */
const EMPTY_DIGEST = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

function refuseNotEmpty() {
  const message = "The environment has events: a cold start fills an empty one. Use " +
    "POST /_admin/import_jsonl";
  return refuse({ kind: "import_conflict", reason: "not_empty", message });
}

interface BegunImport {
  readonly request: ImportRequest;
  readonly reader: LineReader;
  readonly begun: ImportRecord;
}

async function runImport(
  parts: ImportParts,
  tenant: number,
  { request, reader, begun }: BegunImport,
): Promise<ImportOutcome> {
  let record = begun;
  let storing: Promise<ImportFault | undefined> = Promise.resolve(undefined);
  const progress = () => ({ record, written: record.written - begun.written });

  function store({ window }: Collected): void {
    const bytesMax = PIECE_BYTES[request.form];
    storing = storeWindow(parts, tenant, {
      before: record,
      window,
      bytesMax,
      onStored: (stored) => {
        record = stored;
        request.onProgress?.(progress());
      },
    });
    // The loop below awaits it with the next window; until then a rejection must not be
    // unhandled.
    storing.catch(() => {});
  }

  let bounds: WindowBounds = begun.window === undefined
    ? BOUNDS[request.form]
    : { end: begun.window };
  try {
    while (!record.isComplete) {
      const spec = await parts.specs.current(tenant);
      const collected = await collectWindow(parts.host, {
        reader,
        parse: request.parse,
        spec,
        bounds,
      });
      const failed = await storing;
      if (failed !== undefined) return { ok: false, ...failed, progress: progress() };
      if ("end" in bounds) {
        const { fault } = collected;
        const same = isSameWindow(collected.window, bounds.end);
        const refused = fault ?? (same.ok ? undefined : same);
        if (refused !== undefined) return { ok: false, ...refused, progress: progress() };
        bounds = BOUNDS[request.form];
      }
      store(collected);
      const fault = parts.stopping.aborted ? STOPPING : collected.fault;
      if (fault === undefined && !collected.window.isLast) continue;
      const last = await storing ?? fault;
      if (last !== undefined && !record.isComplete) {
        return { ok: false, ...last, progress: progress() };
      }
    }
    return { ok: true, progress: progress() };
  } finally {
    await Promise.allSettled([storing]);
  }
}
