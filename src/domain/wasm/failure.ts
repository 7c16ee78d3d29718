/**
 * What a call of a module may come to. A failure's kind is the `error_type` of its answer; its text
 * and hints are for the author of the module and hold nothing of the data.
 */

import type { HandlerError } from "./handler_error.ts";

export const WASM_FAILURE_KINDS = [
  "wasm_trap",
  "wasm_timeout",
  "wasm_memory",
  "invalid_output",
] as const;

export type WasmFailureKind = typeof WASM_FAILURE_KINDS[number];

/** What the module was doing: making an instance, which runs `start`; allocating; the call. */
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
  /** It was not tried, or not to its end, for no reason that lies in the module. */
  | {
    readonly kind: "unavailable";
    readonly message: string;
    readonly retryAfterMs: number;
    /** It is paused, for its calls have not ended in time: a reason that does lie in it. */
    readonly isPaused?: true;
  };

/** Which call of several it was. */
export interface CallPlace {
  /** Which of the events that were given, from 0. */
  readonly eventIndex: number;
  readonly digest: string;
  readonly entrypoint: string;
}

export type WasmOutcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly stop: WasmStop };
