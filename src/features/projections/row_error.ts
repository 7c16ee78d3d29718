/**
 * Makes the error that a row carries if it could not be computed, with the time of its next
 * try.
 */

import type { ErrorRecord } from "../../domain/error_record.ts";
import { assert } from "../../domain/assert.ts";
import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import type { RowError } from "../../domain/projection/ready_projection.ts";
import type { Refusal } from "../../domain/refusal.ts";
import type { Host } from "../../host.ts";
import type { KeptProjection } from "./projection_sets.ts";
import { makeErrorRecord } from "../base/record_error.ts";

const MS_PER_SECOND = 1000;

/** The machine-readable name of a failure. */
export function errorTypeOfRow(failure: Refusal): string {
  return failure.kind === "module_failed" ? failure.failure : failure.kind;
}

/** The error record for people who find a row with an error and ask why. */
export function makeRowRecord(
  host: Host,
  { name }: KeptProjection,
  key: string,
  failure: Refusal,
): ErrorRecord {
  const context: JsonObject = { operation: "refresh_projection", projection: name, key };
  if (failure.kind === "module_failed") context.module = failure.context;
  return makeErrorRecord(host, {
    error_type: errorTypeOfRow(failure),
    message: "message" in failure ? failure.message : `The row is refused: ${failure.kind}`,
    context,
    request_id: "",
  });
}

/**
 * `record` is given if the failure is of another kind than before; otherwise the old one is
 * kept.
 */
export function makeRowError(
  before: RowError | undefined,
  record: ErrorRecord | undefined,
  { nowMs, random }: { readonly nowMs: number; readonly random: number },
): RowError {
  const named = record ?? before;
  assert(named !== undefined, "a row fails for a reason");
  const { error_id, error_type, message } = named;
  const tries = (before?.tries ?? 0) + 1;
  const since = before?.since ?? Math.floor(nowMs / MS_PER_SECOND);
  const nextTryMs = Math.floor(nowMs + rowRetryPauseMs(tries, random));
  return { error_id, error_type, message, since, tries, nextTryMs };
}

/** Doubles with each try up to the maximum, then takes a random part of it between half and all. */
function rowRetryPauseMs(tries: number, random: number): number {
  const pauseMs = limits.rowRetryMsMin * 2 ** Math.min(tries - 1, 20);
  return Math.min(pauseMs, limits.rowRetryMsMax) * (0.5 + random / 2);
}
