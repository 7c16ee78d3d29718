/**
 * Follows what the client of `sdk/` follows: it goes on by itself after broken connections and
 * restarts of the server. What another try would not change ends the process with the refusal.
 */

import { type Client, createClient, DaybookError } from "@daybook/client";
import type { Session } from "./session.ts";

/** A client for reading, which tries for as long as the process runs, and says so. */
export async function openClient(session: Session): Promise<Client> {
  const { url, credential, instanceId } = await session.reader();
  let isTold = false;
  return createClient({
    url,
    key: credential,
    instanceId,
    retries: Infinity,
    onRetry({ error, error_type }) {
      const what = error_type === "unreachable" ? `The server at ${url} does not answer.` : error;
      if (!isTold) session.output.note(`${what} Trying on.`);
      isTold = true;
    },
  });
}

/** Hands each item to `take`, until that returns false. */
export async function followLive<Item>(
  { output }: Session,
  items: AsyncIterable<Item>,
  take: (item: Item) => boolean | void,
): Promise<void> {
  try {
    for await (const item of items) if (take(item) === false) return;
  } catch (error) {
    if (!(error instanceof DaybookError)) throw error;
    const { ok: _, ...refusal } = error.refusal;
    output.fail({ ...refusal });
  }
}
