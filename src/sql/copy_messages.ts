/** The requests to the process that writes copies, and its answers. */

import type { Column } from "../domain/projection/ready_projection.ts";
import type { AnswerMessage } from "../runners/runner_process.ts";

/** One version of one projection, with the name and the columns of its table. */
export interface CopiedProjection {
  readonly name: string;
  readonly number: number;
  readonly version: number;
  readonly columns: readonly Column[];
}

/** A complete table, and how far it has followed its projection. */
export interface CopiedTable {
  readonly name: string;
  readonly number: number;
  readonly version: number;
  /** The stamp in hex; "" before the first change. */
  readonly stamp: string;
}

/** Changes of one projection: the body has the changed rows, `removed` the keys of removed ones. */
export interface CopiedChanges {
  readonly projection: CopiedProjection;
  /** The stamp that the table must have before the change, and the stamp it has afterwards. */
  readonly from: string;
  readonly to: string;
  readonly removed: readonly string[];
}

/**
 * Bodies are JSON: for `fill` a list of rows, for `apply` a list of rows for each projection. A
 * row is its key and its columns by name.
 */
export type CopyRow = readonly [key: string, data: Readonly<Record<string, unknown>>];

export type CopyRequest = { readonly path: string } & CopyTask;

export type CopyTask =
  /**
   * Opens or creates the file; a file of another owner or format is removed. With `isFirst` the
   * file may come from a process that has ended: a damaged file is then removed, and unfinished
   * tables are dropped.
   */
  | { readonly kind: "open"; readonly owner: string; readonly isFirst: boolean }
  /** Creates a table that gets its name at the end of filling; `token` keeps fillings apart. */
  | { readonly kind: "begin_fill"; readonly token: string; readonly projection: CopiedProjection }
  | { readonly kind: "fill"; readonly token: string; readonly projection: CopiedProjection }
  | {
    readonly kind: "end_fill";
    readonly token: string;
    readonly projection: CopiedProjection;
    readonly stamp: string;
    readonly rows: number;
  }
  /** One transaction, from the message with `isFirst` to the message with `isLast`. */
  | {
    readonly kind: "apply";
    readonly changes: readonly CopiedChanges[];
    readonly isFirst: boolean;
    readonly isLast: boolean;
  }
  | { readonly kind: "drop"; readonly names: readonly string[] }
  /** Truncates the WAL, so that no removed data remains beside the file. */
  | { readonly kind: "tidy" }
  | { readonly kind: "remove" };

export type CopyAnswer = CopyStep & AnswerMessage;

/**
 * `more`: the request is carried out but for rows of tables that are gone. The next one drops no
 * further names, and removes the next of these rows.
 */
export type CopyStep = CopyResult | { readonly kind: "more" };

export type CopyResult =
  | { readonly kind: "opened"; readonly tables: readonly CopiedTable[] }
  | { readonly kind: "done" }
  /** The file is not in the expected state: the caller opens it again and looks at its tables. */
  | { readonly kind: "moved"; readonly reason: string }
  /** The disk is full or the folder cannot be written: a later attempt may succeed. */
  | { readonly kind: "failed"; readonly reason: string };
