/** What projections are once they are built: columns, versions, rows. Decisions, section 15. */

import type { JsonObject } from "../json.ts";

/** `any`: whatever JSON the path finds. `timestamp`: ISO 8601 text in UTC. */
export type ColumnType =
  | "string"
  | "integer"
  | "number"
  | "boolean"
  | "timestamp"
  | "json"
  | "any";

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
}

/** One version of one projection, as its keys name it. */
export interface ViewPlace {
  readonly tenant: number;
  /** Of the projection; never given to another one of the environment. */
  readonly number: number;
  readonly version: number;
}

/** A version that can be read. */
export interface View extends ViewPlace {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Why nothing is kept up to date: the document does not fit the current spec. */
  readonly broken?: string;
  /** What is written may be missing in its rows, and stays so until another version is read. */
  readonly isStale?: true;
}

/** Why a row is not what its sources say, and when it is tried again. */
export interface RowError {
  readonly error_id: string;
  readonly error_type: string;
  readonly message: string;
  /** Unix seconds of the first try that failed. */
  readonly since: number;
  readonly tries: number;
  readonly nextTryMs: number;
}

export interface ViewRow {
  /** The id of the aggregate that the row is about. */
  readonly key: string;
  /** By column, in their order; null where it could never be computed. */
  readonly data: JsonObject | null;
  /** Length of that aggregate's stream as the row shows it. */
  readonly position: number;
  /** Unix seconds of the newest event of all that it shows; null where there is none. */
  readonly updatedAt: number | null;
  readonly error?: RowError;
}
