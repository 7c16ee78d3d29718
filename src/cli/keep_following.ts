/** Follows a live read for as long as the process runs: connects again whenever the answer ends. */

import type { JsonObject } from "../domain/json.ts";
import type { DataCall, Session } from "./session.ts";

export interface Following {
  /** The call that goes on from what was taken last. */
  readonly call: () => DataCall;
  /** Takes one line. Returning false ends it all. */
  readonly take: (line: JsonObject) => boolean | void;
}

const WAIT_MIN_MS = 250;
const WAIT_MAX_MS = 10_000;
/** Worth another try: the server may be back soon. */
const PASSING = new Set(["unreachable", "timed_out", "unavailable", "rate_limited", "internal"]);

export async function keepFollowing(session: Session, following: Following): Promise<void> {
  const { output } = session;
  let waitMs = WAIT_MIN_MS;
  let hasConnected = false;
  for (;;) {
    const answer = await session.live(following.call());
    if (answer.ok) {
      if (hasConnected && waitMs > WAIT_MIN_MS) output.note("Connected again.");
      hasConnected = true;
      waitMs = WAIT_MIN_MS;
      const ended = await takeAll(session, answer.lines, following.take);
      if (ended) return;
    } else {
      const { failure } = answer;
      // What fails at the first try is not likely to come right by itself.
      if (!hasConnected || !PASSING.has(failure.error_type)) return output.fail(failure);
      if (waitMs === WAIT_MIN_MS) output.note(`${failure.error} Trying again.`);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      waitMs = Math.min(waitMs * 2, WAIT_MAX_MS);
    }
  }
}

/** True if `take` has had enough; false if the answer ended or broke off. */
async function takeAll(
  { output }: Session,
  lines: AsyncIterable<JsonObject>,
  take: Following["take"],
): Promise<boolean> {
  try {
    for await (const line of lines) {
      if (line.type === "refused") {
        const error = String(line.error ?? "The server has ended the answer.");
        return output.fail({ ...line, error, error_type: String(line.error_type ?? "refused") });
      }
      if (take(line) === false) return true;
    }
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof Deno.errors.Http)) throw error;
  }
  return false;
}
