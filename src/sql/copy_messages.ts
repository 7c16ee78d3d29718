/** What is asked of the process that writes copies, and what it answers. */

import type { Column } from "../domain/projection/view.ts";
import type { AnswerMessage } from "../runners/runner_process.ts";

/** One version of one projection, as its table is called and made. */
export interface CopiedView {
  readonly name: string;
  readonly number: number;
  readonly version: number;
  readonly columns: readonly Column[];
}

/** A table that is whole, and how far it has followed its view. */
export interface CopiedTable {
  readonly name: string;
  readonly number: number;
  readonly version: number;
  /** In hex; "" before the first change. */
  readonly stamp: string;
}

/** Changes of one view: its rows as they are now are in the body, those in `removed` are gone. */
export interface CopiedChanges {
  readonly view: CopiedView;
  /** The stamp that the table must have, and the one that it has then. */
  readonly from: string;
  readonly to: string;
  readonly removed: readonly string[];
}

/**
 * Bodies are JSON: of `fill` the rows, of `apply` the rows of each of the views; a row is its key
 * and its columns by name.
 */
export type CopyRow = readonly [key: string, data: Readonly<Record<string, unknown>>];

export type CopyRequest = { readonly path: string } & CopyTask;

export type CopyTask =
  /**
   * Open the file, or make one; one of another owner or format is removed. `isFirst`: it may be
   * from a process that is no more, so a damaged one goes too, and what was not finished.
   */
  | { readonly kind: "open"; readonly owner: string; readonly isFirst: boolean }
  /** A new table, which takes its name at the end; `token` keeps fillings apart. */
  | { readonly kind: "begin_fill"; readonly token: string; readonly view: CopiedView }
  | { readonly kind: "fill"; readonly token: string; readonly view: CopiedView }
  | {
    readonly kind: "end_fill";
    readonly token: string;
    readonly view: CopiedView;
    readonly stamp: string;
    readonly rows: number;
  }
  /** One transaction, from the message that is the first to the one that is the last. */
  | {
    readonly kind: "apply";
    readonly changes: readonly CopiedChanges[];
    readonly isFirst: boolean;
    readonly isLast: boolean;
  }
  | { readonly kind: "drop"; readonly names: readonly string[] }
  /** Leave nothing of what was removed beside the file. */
  | { readonly kind: "tidy" }
  | { readonly kind: "remove" };

export type CopyAnswer = CopyResult & AnswerMessage;

export type CopyResult =
  | { readonly kind: "opened"; readonly tables: readonly CopiedTable[] }
  | { readonly kind: "done" }
  /** It is not as it was: open it again and see what there is. */
  | { readonly kind: "moved"; readonly reason: string }
  /** The disk is full, the folder cannot be written: it may be otherwise later. */
  | { readonly kind: "failed"; readonly reason: string };
