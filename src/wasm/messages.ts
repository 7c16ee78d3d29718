/** What the pool asks of a runner process, and what it answers: one answer for each request. */

import type { HandlerError } from "../domain/wasm/handler_error.ts";
import type { OutputKind } from "../domain/wasm/call_output.ts";
import type { WasmFailure } from "../domain/wasm/failure.ts";
import type { Violation } from "../domain/refusal.ts";
import type { AnswerMessage } from "../runners/runner_process.ts";

/** Which function of which module, by the digest of its bytes, and for how long. */
export interface CallTarget {
  readonly digest: string;
  readonly entrypoint: string;
  readonly timeoutMs: number;
}

/**
 * A group is sent at once, so that a question and its answer cost less. Where one of it takes long,
 * those behind it are skipped: they are not to wait for it.
 */
export type RunnerRequest = RunnerTask & { readonly group?: number };

export type RunnerTask =
  /** Is it a module that may be uploaded? The body is the file. */
  | { readonly kind: "check" }
  /** Keep this module; the body is its checked bytes. */
  | { readonly kind: "module"; readonly digest: string }
  /** One call. The body is its input. */
  | { readonly kind: "call"; readonly target: CallTarget; readonly output: OutputKind }
  /** Handlers over events, each on the state that the one before gave. */
  | {
    readonly kind: "fold";
    /** The body: the state's JSON text, then those of the events, with these lengths in bytes. */
    readonly stateBytes: number;
    readonly events: readonly FoldEvent[];
    readonly targets: readonly CallTarget[];
    /** No further event is begun after so many milliseconds. */
    readonly sliceMs: number;
  };

export interface FoldEvent {
  readonly bytes: number;
  /** Which of the targets folds it. */
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
  /** Another of its group took long; ask again. */
  | { readonly kind: "skipped" }
  /** The body is the JSON text of what was asked for: of a fold, the state after `done` events. */
  | { readonly kind: "value"; readonly done: number }
  /** Event `done` failed; those before it did not. */
  | { readonly kind: "failed"; readonly done: number; readonly failure: WasmFailure }
  | { readonly kind: "error"; readonly done: number; readonly error: HandlerError };
