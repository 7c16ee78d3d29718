/** What is asked of a process that runs queries, and what it answers. */

import type { BoundArguments } from "../domain/projection/sql_parameters.ts";
import type { AnswerMessage } from "../runners/runner_process.ts";

/** A table as it must be at least: `stamp` is how far it has followed its view, in hex. */
export interface WantedTable {
  readonly name: string;
  readonly number: number;
  readonly version: number;
  readonly stamp: string;
}

export interface QueryRequest {
  readonly kind: "query";
  /** The file of the environment's copy. */
  readonly path: string;
  /** Those that the statement may read. */
  readonly tables: readonly WantedTable[];
  readonly sql: string;
  readonly bound: BoundArguments;
  /** What is too large for memory may be sorted in temporary files. */
  readonly spills: boolean;
}

export type QueryAnswer = QueryResult & AnswerMessage;

export type QueryResult =
  /** The body: the fields of the reply as JSON text, without its braces. */
  | { readonly kind: "rows" }
  /** The statement is at fault. */
  | { readonly kind: "refused"; readonly reason: string }
  /** The copy is: it is not there, not as it must be, or cannot be read. */
  | { readonly kind: "copy_unfit"; readonly isDamaged: boolean; readonly reason: string };
