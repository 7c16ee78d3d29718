/** Scheduled events as the API shows them before they fire. See docs/reference/reactions.md. */

import type { ListPage } from "../list_page.ts";
import type { JsonObject } from "../json.ts";

export interface ScheduledView {
  readonly scheduled_id: string;
  /** ISO 8601 UTC, like `created_at`. */
  readonly fire_at: string;
  readonly created_at: string;
  /** The event that will be written. */
  readonly key: string;
  readonly event_type: string;
  readonly data: JsonObject;
  readonly cancel_on: readonly {
    readonly aggregate_type: string;
    readonly id: string;
    readonly event_type: string;
  }[];
  /** The event that scheduled it. */
  readonly scheduled_by: {
    readonly key: string;
    readonly event_type: string;
    readonly stream_id: string;
  };
}

export type ScheduledPage = ListPage<ScheduledView>;
