/** The messages between the pool and a WebAssembly runner: one answer for each request. */

import type { HandlerError } from "../domain/wasm/handler_error.ts";
import type { OutputKind } from "../domain/wasm/call_output.ts";
import type { WasmFailure } from "../domain/wasm/failure.ts";
import type { Violation } from "../domain/refusal.ts";
import type { AnswerMessage } from "../runners/runner_process.ts";

/** A function of a module, which the digest of its bytes identifies, and its time limit. */
export interface CallTarget {
  readonly digest: string;
  readonly entrypoint: string;
  readonly timeoutMs: number;
}

/**
 * The requests of a group are sent at once, so that a question and its answer cost less. If one
 * of them takes long, those behind it are skipped so that they do not wait for it.
 */
export type RunnerRequest = RunnerTask & { readonly group?: number };

export type RunnerTask =
  /** Checks whether a file may be uploaded as a module. The body is the file. */
  | { readonly kind: "check" }
  /** Compiles this module and keeps it. The body is its checked bytes. */
  | { readonly kind: "module"; readonly digest: string }
  /** One call. The body is its input. */
  | { readonly kind: "call"; readonly target: CallTarget; readonly output: OutputKind }
  /** Folds events, each onto the state that the one before returned. */
  | {
    readonly kind: "fold";
    /** The body: the state's JSON text, then those of the events, with these lengths in bytes. */
    readonly stateBytes: number;
    readonly events: readonly FoldEvent[];
    readonly targets: readonly CallTarget[];
    /** No further event is begun after this many milliseconds. */
    readonly sliceMs: number;
  };

export interface FoldEvent {
  readonly bytes: number;
  /** Index of the target that folds it. */
  readonly target: number;
}

export type RunnerAnswer = RunnerResult & AnswerMessage;

export type RunnerResult =
  /** The body is the module as it is kept. */
  | {
    readonly kind: "checked";
    readonly entrypoints: readonly string[];
    readonly memoryPagesInitial: number;
  }
  | { readonly kind: "refused"; readonly violation: Violation }
  | { readonly kind: "loaded" }
  /** The runner does not have this module: send it, and ask again. */
  | { readonly kind: "missing"; readonly digest: string }
  /** Another request of its group took long; ask again. */
  | { readonly kind: "skipped" }
  /** The body is the result as JSON text; for a fold, the state after `done` events. */
  | { readonly kind: "value"; readonly done: number }
  /** Event `done`, counted from 0, failed; those before it did not. */
  | { readonly kind: "failed"; readonly done: number; readonly failure: WasmFailure }
  | { readonly kind: "error"; readonly done: number; readonly error: HandlerError };
