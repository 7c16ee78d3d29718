/** The diagnostic kept for a day after a 5xx. */

import type { ListPage } from "./list_page.ts";
import type { JsonObject } from "./json.ts";

/** Spec: "Error record (diagnostic)". */
export interface ErrorRecord {
  readonly error_id: string;
  readonly error_type: string;
  readonly message: string;
  readonly context: JsonObject;
  readonly request_id: string;
  readonly occurred_at: string;
}

/** EXT `GET /_errors`: newest first. */
export type ErrorPage = ListPage<ErrorRecord>;
