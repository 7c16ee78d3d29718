/**
 * Failures of module calls.
 *
 * The kind of a failure is the `error_type` of its answer. Its text and hints are for the
 * author of the module, and contain no data.
 */

import type { HandlerError } from "./handler_error.ts";

export const WASM_FAILURE_KINDS = [
  "wasm_trap",
  "wasm_timeout",
  "wasm_memory",
  "invalid_output",
] as const;

export type WasmFailureKind = typeof WASM_FAILURE_KINDS[number];

/**
 * What the module was doing: instantiation (which runs `start`), allocation, the call itself,
 * or returning its output.
 */
export type CallPhase = "start" | "malloc" | "entrypoint" | "output";

export interface WasmFailure {
  readonly kind: WasmFailureKind;
  readonly message: string;
  readonly phase: CallPhase;
}

/** Why a call gave no result. */
export type WasmStop =
  | { readonly kind: "failed"; readonly failure: WasmFailure; readonly place: CallPlace }
  /** The module's own `error` object: it refuses the event. */
  | { readonly kind: "handler_error"; readonly error: HandlerError; readonly place: CallPlace }
  /** The call was not made, or not finished, for a reason that does not lie in the module. */
  | {
    readonly kind: "unavailable";
    readonly message: string;
    readonly retryAfterMs: number;
    /**
     * The module is paused because its calls did not end in time. This reason does lie in the
     * module.
     */
    readonly isPaused?: true;
  };

/** Which of several calls it was. */
export interface CallPlace {
  /** Index of the event among those that were given. */
  readonly eventIndex: number;
  readonly digest: string;
  readonly entrypoint: string;
}

export type WasmOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly stop: WasmStop };
