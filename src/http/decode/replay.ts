/** Decodes the body of a call that replays deliveries. See docs/reference/listeners.md. */

import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { parseUtcTime } from "../../domain/utc_time.ts";
import type { JsonSender } from "./body.ts";
import { readFields } from "./operator.ts";

export type ReplayBody =
  | { readonly deliveryId: string }
  | { readonly sinceMs: number; readonly start?: string };

const FIELDS = { "since?": "string", "start?": "string", "delivery_id?": "string" } as const;

/** Either `{delivery_id}` or `{since, start?}`. */
export async function decodeReplay(sender: JsonSender): Promise<Outcome<ReplayBody>> {
  const body = await readFields(sender, FIELDS);
  if (!body.ok) return body;
  const { since, start, delivery_id: deliveryId } = body.value;
  if ((since === undefined) === (deliveryId === undefined)) {
    return bad("since", "Send either since or delivery_id");
  }
  if (deliveryId !== undefined) {
    return start === undefined
      ? accept({ deliveryId })
      : bad("start", "start goes with since, not with delivery_id");
  }
  const sinceMs = parseUtcTime(since!);
  if (sinceMs === undefined) {
    return bad("since", "since must be an ISO 8601 UTC time, for example 2030-01-31T12:00:00Z");
  }
  return accept({ sinceMs, ...(start !== undefined && { start }) });
}

function bad(path: string, message: string) {
  return refuse({ kind: "bad_request", path, message });
}
