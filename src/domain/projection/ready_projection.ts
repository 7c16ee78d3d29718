/**
 * The types of a built projection: columns, versions and rows.
 *
 * See docs/reference/projections.md.
 */

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

/** One version of one projection, as it appears in keys. */
export interface ProjectionPlace {
  readonly tenant: number;
  /** The number of the projection, unique in its environment and never reused. */
  readonly number: number;
  readonly version: number;
}

/** A version that can be read. */
export interface ReadyProjection extends ProjectionPlace {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Why the rows are not kept up to date: the document does not fit the current spec. */
  readonly broken?: string;
  /** The rows may lack writes, and will until another version replaces this one. */
  readonly isStale?: true;
}

/** Why a row differs from its sources, and when it is retried. */
export interface RowError {
  readonly error_id: string;
  readonly error_type: string;
  readonly message: string;
  /** Unix seconds of the first failed attempt. */
  readonly since: number;
  readonly tries: number;
  readonly nextTryMs: number;
}

export interface ProjectionRow {
  /** The id of the aggregate that the row is about. */
  readonly key: string;
  /** Values by column name, in column order, as JSON text; `null` if it could never be computed. */
  readonly dataJson: string;
  /** The length of that aggregate's stream that the row reflects. */
  readonly position: number;
  /** Unix seconds of the newest event the row reflects; null if there is none. */
  readonly updatedAt: number | null;
  readonly error?: RowError;
}
