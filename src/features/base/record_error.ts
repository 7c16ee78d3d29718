/**
 * Keeps the error record of each 5xx for a day, and finds it again. While the store is
 * unavailable, the newest records are kept in memory, so that an outage can be investigated
 * while it lasts. They are saved once the store is back, so that every node finds them. See
 * docs/reference/errors.md.
 */

import { hash } from "node:crypto";
import { countErrors, type Counters, newCounters } from "../../domain/measures/counters.ts";
import type { ErrorPage, ErrorRecord } from "../../domain/error_record.ts";
import { checkStart, cutPage, pageLimit } from "../../domain/list_page.ts";
import type { PageRequest } from "../../domain/reading.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import {
  isFresh,
  listErrorRecords,
  readErrorRecord,
  storeErrorRecord,
} from "../../store/error_records.ts";

/** Records kept in memory while they wait for the store. */
const RECORDS_IN_MEMORY_MAX = 1_000;
/** Records written at a time: while the store is unavailable, each write takes seconds to fail. */
const WRITING_MAX = 16;
/** Longer than any id. */
const ID_CHARACTERS_MAX = 64;
const RANDOM_BYTES = 12;
const TIME_DIGITS = 12;

export interface ErrorRecords {
  record(tenant: Tenant | undefined, error: Omit<ErrorRecord, "error_id" | "occurred_at">): string;
  read(tenant: Tenant, errorId: string): Promise<Outcome<ErrorRecord>>;
  /** A page of records before the id `start`, newest first. */
  list(tenant: Tenant, page: PageRequest): Promise<Outcome<ErrorPage>>;
  /**
   * Saves up to `limit` records that the store did not take before. Returns how many. Throws if
   * the store is unavailable.
   */
  saveWaiting(limit: number): Promise<number>;
  /** Resolves when no record is being written any more. */
  settle(): Promise<void>;
}

interface Waiting {
  readonly tenant: Tenant;
  readonly record: ErrorRecord;
  /** Whether it is being written right now. */
  isWriting: boolean;
}

/** Gives an error record its id and its time. */
export function makeErrorRecord(
  host: Host,
  error: Omit<ErrorRecord, "error_id" | "occurred_at">,
): ErrorRecord {
  const now = host.nowMs();
  // The time comes first, so that ids sort by it. The rest cannot be guessed.
  const time = now.toString(16).padStart(TIME_DIGITS, "0");
  const error_id = `err_${time}${host.randomBytes(RANDOM_BYTES).toHex()}`;
  const { error_type, message, context, request_id } = error;
  return {
    error_id,
    error_type,
    message,
    context,
    request_id,
    occurred_at: new Date(now).toISOString(),
  };
}

/**
 * Makes the single error record about something with a name. Its id is derived from the name,
 * so it is the same whoever makes it and however often. `nowMs` is its time.
 */
export function makeNamedErrorRecord(
  nowMs: number,
  name: string,
  error: Omit<ErrorRecord, "error_id" | "occurred_at">,
): ErrorRecord {
  const time = nowMs.toString(16).padStart(TIME_DIGITS, "0");
  const error_id = `err_${time}${hash("sha256", name, "hex").slice(0, 2 * RANDOM_BYTES)}`;
  const { error_type, message, context, request_id } = error;
  const occurred_at = new Date(nowMs).toISOString();
  return { error_id, error_type, message, context, request_id, occurred_at };
}

export function openErrorRecords(
  engine: Engine,
  host: Host,
  counters: Counters = newCounters(),
): ErrorRecords {
  /** Records that the store may not have, newest last. */
  const waiting = new Map<string, Waiting>();
  const writing = new Set<Promise<void>>();

  function record(
    tenant: Tenant | undefined,
    error: Omit<ErrorRecord, "error_id" | "occurred_at">,
  ): string {
    const kept = makeErrorRecord(host, error);
    countErrors(counters, [kept]);
    if (tenant !== undefined) keep(tenant, kept);
    return kept.error_id;
  }

  function keep(tenant: Tenant, kept: ErrorRecord): void {
    const entry: Waiting = { tenant, record: kept, isWriting: false };
    waiting.set(kept.error_id, entry);
    if (waiting.size > RECORDS_IN_MEMORY_MAX) waiting.delete(waiting.keys().next().value!);
    if (writing.size >= WRITING_MAX) return;
    const write = save(entry).catch((error: unknown) => {
      host.log("warn", "An error record stays in memory: the store did not take it", {
        error_id: kept.error_id,
        reason: error instanceof Error ? error.message : String(error),
      });
    }).finally(() => {
      writing.delete(write);
    });
    writing.add(write);
  }

  async function save(entry: Waiting): Promise<void> {
    const { tenant, record } = entry;
    entry.isWriting = true;
    try {
      await engine.transact((tx) => Promise.resolve(storeErrorRecord(tx, tenant.number, record)));
      waiting.delete(record.error_id);
    } finally {
      entry.isWriting = false;
    }
  }

  async function saveWaiting(limit: number): Promise<number> {
    let saved = 0;
    for (const [errorId, entry] of waiting) {
      if (saved === limit) break;
      if (entry.isWriting) continue;
      if (!isFresh(entry.record, host.nowMs())) waiting.delete(errorId);
      else await save(entry);
      saved++;
    }
    return saved;
  }

  async function read(tenant: Tenant, errorId: string): Promise<Outcome<ErrorRecord>> {
    const held = waiting.get(errorId);
    const found = held?.tenant.number === tenant.number
      ? held.record
      : await engine.snapshot((tx) => readErrorRecord(tx, tenant.number, errorId, host.nowMs()));
    if (found !== undefined && isFresh(found, host.nowMs())) return accept(found);
    const message = "There is no such error record, or it is older than 24 hours";
    return refuse({ kind: "not_found", message });
  }

  async function list(
    { number }: Tenant,
    { start, limit }: PageRequest,
  ): Promise<Outcome<ErrorPage>> {
    const checked = checkStart(start, ID_CHARACTERS_MAX);
    if (!checked.ok) return checked;
    const page = { start, limit: pageLimit(limit) + 1 };
    // Taken before the store is read: a record saved meanwhile would otherwise be in neither
    // list.
    const waitingBefore = [...waiting.values()];
    const stored = await engine.snapshot((tx) => listErrorRecords(tx, number, page));
    const known = new Set(stored.map(({ error_id }) => error_id));
    const held = waitingBefore.filter((entry) => entry.tenant.number === number)
      .map(({ record }) => record)
      .filter(({ error_id: id }) => !known.has(id) && (start === undefined || id < start));
    const found = [...stored, ...held].filter((record) => isFresh(record, host.nowMs()))
      .sort((a, b) => a.error_id < b.error_id ? 1 : -1).slice(0, page.limit);
    return accept(cutPage(found, limit, ({ error_id }) => error_id));
  }

  async function settle(): Promise<void> {
    await Promise.all(writing);
  }

  return { record, read, list, saveWaiting, settle };
}
