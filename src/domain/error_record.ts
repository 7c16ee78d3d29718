/**
 * Error records: diagnostics kept for a day after a 5xx answer or failed background work.
 *
 * See docs/reference/errors.md.
 */

import type { ListPage } from "./list_page.ts";
import type { JsonObject } from "./json.ts";

/** `occurred_at` is ISO 8601 UTC. */
export interface ErrorRecord {
  readonly error_id: string;
  readonly error_type: string;
  readonly message: string;
  readonly context: JsonObject;
  readonly request_id: string;
  readonly occurred_at: string;
}

/** `GET /_errors`: newest first. */
export type ErrorPage = ListPage<ErrorRecord>;
