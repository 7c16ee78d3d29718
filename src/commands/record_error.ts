/**
 * Keeps the diagnostic of a 5xx for a day, and finds it again. While the store is away the newest
 * ones are kept in memory, so that an outage can be looked into while it lasts.
 */

import type { ErrorRecord } from "../domain/error_record.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import { isFresh, readErrorRecord, storeErrorRecord } from "../store/error_records.ts";

/** Records kept in memory while they wait for the store. */
const RECORDS_IN_MEMORY_MAX = 1_000;
const RANDOM_BYTES = 12;
const TIME_DIGITS = 12;

export interface ErrorRecords {
  record(tenant: Tenant | undefined, error: Omit<ErrorRecord, "error_id" | "occurred_at">): string;
  read(tenant: Tenant, errorId: string): Promise<Outcome<ErrorRecord>>;
  /** Resolves when nothing is being written any more. */
  settle(): Promise<void>;
}

export function openErrorRecords(engine: Engine, host: Host): ErrorRecords {
  /** Newest last: what the store may not have. */
  const waiting = new Map<string, { readonly tenant: Tenant; readonly record: ErrorRecord }>();
  const writing = new Set<Promise<void>>();

  function record(
    tenant: Tenant | undefined,
    error: Omit<ErrorRecord, "error_id" | "occurred_at">,
  ): string {
    const now = host.nowMs();
    // Time first, so that ids sort by it; the rest cannot be guessed.
    const time = now.toString(16).padStart(TIME_DIGITS, "0");
    const errorId = `err_${time}${host.randomBytes(RANDOM_BYTES).toHex()}`;
    const { error_type, message, context, request_id } = error;
    const occurred_at = new Date(now).toISOString();
    const kept = { error_id: errorId, error_type, message, context, request_id, occurred_at };
    if (tenant !== undefined) keep(tenant, kept);
    return errorId;
  }

  function keep(tenant: Tenant, kept: ErrorRecord): void {
    waiting.set(kept.error_id, { tenant, record: kept });
    if (waiting.size > RECORDS_IN_MEMORY_MAX) waiting.delete(waiting.keys().next().value!);
    const write = engine.transact((tx) =>
      Promise.resolve(storeErrorRecord(tx, tenant.number, kept))
    ).then(() => {
      waiting.delete(kept.error_id);
    }).catch((error: unknown) => {
      host.log("warn", "An error record stays in memory: the store did not take it", {
        error_id: kept.error_id,
        reason: error instanceof Error ? error.message : String(error),
      });
    }).finally(() => {
      writing.delete(write);
    });
    writing.add(write);
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

  async function settle(): Promise<void> {
    await Promise.all(writing);
  }

  return { record, read, settle };
}
