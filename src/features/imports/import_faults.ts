/** Refusals for imports that cannot go on now but can later. */

import { limits } from "../../domain/limits.ts";
import { refuse } from "../../domain/refusal.ts";

const RETRY_AFTER_SECONDS = 5;

export function refuseUnavailable(message: string) {
  const retryAfterSeconds = RETRY_AFTER_SECONDS;
  return refuse({ kind: "import_unavailable", message, retryAfterSeconds });
}

export const STOPPING = refuseUnavailable(
  "The server is stopping; send the file again with the same import_id to go on",
);

/** For an import beyond the limit. */
export function refuseBusy() {
  const { importsUnderWayMax } = limits;
  return refuseUnavailable(
    `This server runs ${importsUnderWayMax} imports at a time; send this one later`,
  );
}
