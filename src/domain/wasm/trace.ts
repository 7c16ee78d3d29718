/**
 * What is told of calls of modules to operators who ask for it. Bounded, and nothing of what a
 * module was given or has returned: not the state, not the data, not the text of an error.
 */

export type CallPurpose = "read" | "rebuild" | "write" | "implication";
/** `ok`, or what stopped the last of the calls. */
export type CallEnd = string;

/** Calls of one function in a row: of a fold there may be many. */
export interface ModuleTrace {
  /** ISO 8601 UTC. */
  readonly at: string;
  readonly purpose: CallPurpose;
  readonly blob: string;
  readonly version: number;
  readonly entrypoint: string;
  /** Of the first event. */
  readonly event_type: string;
  readonly calls: number;
  /** With the wait for its turn. */
  readonly milliseconds: number;
  readonly input_bytes: number;
  readonly output_bytes: number;
  readonly end: CallEnd;
}
