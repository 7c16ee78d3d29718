/** How a projection is, and its rows, in the words of their answers. Decisions, section 15. */

import type { ListPage } from "../list_page.ts";
import type { JsonObject } from "../json.ts";
import type { Column } from "./view.ts";

export interface ProjectionStatus {
  readonly name: string;
  /**
   * `ready`: it is read. `building`: it cannot be read yet. `broken`: its document does not fit the
   * current spec, and nothing is kept up to date.
   */
  readonly state: "ready" | "building" | "broken";
  /** Of what is read; null while there is nothing to read. */
  readonly version: number | null;
  readonly columns: readonly Column[];
  /** A version that is built beside, or as the first one. */
  readonly building?: BuildStatus;
  /**
   * Commits of the environment that its views do not show yet, counted up to 1,000; and all of its
   * types that it has missed since it broke.
   */
  readonly lag: number;
  /** Rows that could not be computed and are tried again, counted up to 1,000. */
  readonly failed_rows: number;
  readonly last_error: string | null;
  /** ISO 8601. */
  readonly deployed_at: string;
  /** The document as it was deployed last. */
  readonly projection: JsonObject;
}

export interface BuildStatus {
  readonly version: number;
  /** Written so far. */
  readonly rows: number;
  /** ISO 8601. */
  readonly started_at: string;
}

/** Where rows lack what was written and nobody brings them up to date. */
export interface Staleness {
  readonly stale: true;
  /** Commits that they lack. */
  readonly lag: number;
}

/** One row as it is answered. */
export interface RowView extends Partial<Staleness> {
  readonly data: JsonObject | null;
  readonly metadata: {
    readonly key: string;
    readonly updated_at: number | null;
    readonly position: number;
    /** Where the row is older than its sources, for they could not be read. */
    readonly error?: {
      readonly error_id: string;
      readonly error_type: string;
      readonly since: number;
    };
  };
}

export type RowPage = ListPage<RowView> & Partial<Staleness>;
