/**
 * Traces of module calls, for operators who ask for them.
 *
 * Traces are bounded. They contain nothing that a module was given or returned: no state, no
 * data, no error text.
 */

export type CallPurpose = "read" | "rebuild" | "write" | "implication";
/** `ok`, or what stopped the last call. */
export type CallEnd = string;

/** Consecutive calls of one function; a fold may make many. */
export interface ModuleTrace {
  /** ISO 8601 UTC. */
  readonly at: string;
  readonly purpose: CallPurpose;
  readonly blob: string;
  readonly version: number;
  readonly entrypoint: string;
  /** Type of the first event. */
  readonly event_type: string;
  readonly calls: number;
  /** Includes the time that the calls waited for their turn. */
  readonly milliseconds: number;
  readonly input_bytes: number;
  readonly output_bytes: number;
  readonly end: CallEnd;
}
