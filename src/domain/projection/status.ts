/**
 * The shapes of the API's answers about projections and their rows.
 *
 * See docs/reference/projections.md.
 */

import type { ListPage } from "../list_page.ts";
import type { JsonObject } from "../json.ts";
import type { Column } from "./ready_projection.ts";

export interface ProjectionStatus {
  readonly name: string;
  /**
   * `ready`: the rows can be read. `building`: they cannot be read yet. `broken`: the document
   * does not fit the current spec, and the rows are not kept up to date.
   */
  readonly state: "ready" | "building" | "broken";
  /** The version that is read; null while there is none. */
  readonly version: number | null;
  readonly columns: readonly Column[];
  /** A version that is being built, beside the one that is read or as the first. */
  readonly building?: BuildStatus;
  /**
   * Commits of the environment that the projection does not show yet, counted up to 1,000, plus
   * all commits of its types that it has missed since it broke.
   */
  readonly lag: number;
  /** Rows that could not be computed and will be retried, counted up to 1,000. */
  readonly failed_rows: number;
  readonly last_error: string | null;
  /** ISO 8601. */
  readonly deployed_at: string;
  /** The document of the latest deploy. */
  readonly projection: JsonObject;
}

export interface BuildStatus {
  readonly version: number;
  /** Rows written so far. */
  readonly rows: number;
  /** ISO 8601. */
  readonly started_at: string;
}

/** Present when rows lack some writes and are not being brought up to date. */
export interface Staleness {
  readonly stale: true;
  /** The number of commits that the rows lack. */
  readonly lag: number;
}

/** One row as the API returns it. Its data stay text: parsing a megabyte may take 50 ms. */
export interface RowView extends Partial<Staleness> {
  readonly dataJson: string;
  readonly metadata: {
    readonly key: string;
    readonly updated_at: number | null;
    readonly position: number;
    /** Present when the row is older than its sources because they could not be read. */
    readonly error?: {
      readonly error_id: string;
      readonly error_type: string;
      readonly since: number;
    };
  };
}

export type RowPage = ListPage<RowView> & Partial<Staleness>;
