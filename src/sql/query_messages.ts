/** The requests to a process that runs queries, and its answers. */

import type { BoundArguments } from "../domain/projection/check_query.ts";
import type { AnswerMessage } from "../runners/runner_process.ts";

/** The least state of a table: `stamp` (hex) is how far it must have followed its projection. */
export interface WantedTable {
  readonly name: string;
  readonly number: number;
  readonly version: number;
  readonly stamp: string;
}

export interface QueryRequest {
  readonly kind: "query";
  /** The file with the copy of the environment. */
  readonly path: string;
  /** The tables that the statement may read. */
  readonly tables: readonly WantedTable[];
  readonly sql: string;
  readonly bound: BoundArguments;
  /** Whether temporary files may be used to sort what is too large for memory. */
  readonly spills: boolean;
}

export type QueryAnswer = QueryResult & AnswerMessage;

export type QueryResult =
  /** The body has the fields of the reply as JSON text, without the braces. */
  | { readonly kind: "rows" }
  /** The statement is at fault. */
  | { readonly kind: "refused"; readonly reason: string }
  /** The copy is at fault: it is missing, not in the expected state, or unreadable. */
  | { readonly kind: "copy_unfit"; readonly isDamaged: boolean; readonly reason: string };
