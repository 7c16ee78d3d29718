/** A pool for one test, and modules to run in it as if they had been uploaded. */

import assert from "node:assert/strict";
import type { WasmOutcome } from "../../../src/domain/wasm/failure.ts";
import type { WasmTarget } from "../../../src/wasm/job.ts";
import { openWasmPool, type WasmPool, type WasmPoolSettings } from "../../../src/wasm/pool.ts";

export const TENANT = "tenant";

/** Runs `test` with a pool of three runners and closes the pool, whatever happens. */
export async function withPool(
  test: (pool: WasmPool) => Promise<void>,
  settings: Partial<WasmPoolSettings> = {},
): Promise<void> {
  const pool = openWasmPool({ runners: 3, stackKilobytes: 64, onFault() {}, ...settings });
  try {
    await test(pool);
  } finally {
    await pool.close();
  }
}

/** Checks the module as an upload does and returns its `apply_handler`. */
export async function upload(
  pool: WasmPool,
  bytes: Uint8Array<ArrayBuffer>,
  { timeoutMs = 1_000, entrypoint = "apply_handler" } = {},
): Promise<WasmTarget> {
  const check = await pool.checkModule(TENANT, bytes);
  assert(check.ok && check.value.ok, JSON.stringify(check));
  const kept = check.value.module.bytes;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", kept)).toHex();
  const module = { digest, load: () => Promise.resolve(kept) };
  return { module, entrypoint, timeoutMs };
}

/** Folds one event onto an empty state. */
export function callOnce(
  pool: WasmPool,
  target: WasmTarget,
  eventJson = '{"key":"order:1","type":"was_placed","data":{},"metadata":{}}',
): Promise<WasmOutcome<string>> {
  return pool.foldEvents(TENANT, "{}", [{ target, eventJson }]);
}

/** `ok`, or the kind of failure that stopped the call. */
export function kindOf(outcome: WasmOutcome<unknown>): string {
  if (outcome.ok) return "ok";
  return outcome.stop.kind === "failed" ? outcome.stop.failure.kind : outcome.stop.kind;
}

export function messageOf(outcome: WasmOutcome<unknown>): string {
  if (outcome.ok || outcome.stop.kind === "handler_error") return "";
  return outcome.stop.kind === "failed" ? outcome.stop.failure.message : outcome.stop.message;
}
