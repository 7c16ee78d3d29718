/** Outbox entries for tests that need only where they are and how large. */

import { streamKey } from "../../src/domain/identifier.ts";
import type { OutboxWork } from "../../src/domain/reaction/outbox_entry.ts";

/** An outbox entry of an environment; `number` tells it from its others. */
export function workOf(number: number, bytes = 1, tenant = 1): OutboxWork {
  return {
    place: { tenant, stream: streamKey("order", "global"), index: 0, number },
    bytes,
    entry: { kind: "sagas", eventType: "was_placed", requestId: "r" },
    sinceMs: 0,
    waitMs: 0,
    tries: 0,
  };
}
