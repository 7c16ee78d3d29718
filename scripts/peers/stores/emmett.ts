/** The part of a peer store that is common to Emmett's event stores, on any database. */

import type { PeerEvent, PeerStore } from "../peer_store.ts";

interface EmmettStore {
  appendToStream(
    stream: string,
    events: readonly { type: string; data: unknown; metadata: unknown }[],
  ): Promise<{ readonly nextExpectedStreamVersion: bigint }>;
  readStream(stream: string): Promise<{ readonly events: readonly { data: unknown }[] }>;
}

const TRIES_MAX = 10_000;

/**
 * Even without an expected version two writers may conflict: the store then says so, or is
 * busy.
 */
function isConflict(error: unknown): boolean {
  const { name, code, message } = error as { name?: string; code?: string; message?: string };
  return /ExpectedVersionConflict|Concurrency/.test(name ?? "") || code === "23505" ||
    /SQLITE_BUSY|UNIQUE constraint|Expected version/i.test(message ?? "");
}

/**
 * Wraps `appendToStream` and `readStream` of any Emmett store; it has no write to several
 * streams.
 */
export function wrapEmmett(
  store: EmmettStore,
  list: Required<PeerStore>["list"],
  close: () => Promise<void>,
): Required<Omit<PeerStore, "appendToMany">> {
  async function append(stream: string, events: readonly PeerEvent[]): Promise<number> {
    for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
      try {
        const { nextExpectedStreamVersion } = await store.appendToStream(stream, events);
        return Number(nextExpectedStreamVersion) - events.length;
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
    throw new Error(`another writer was first ${TRIES_MAX} times`);
  }

  return {
    append,
    async read(stream) {
      return (await store.readStream(stream)).events.map(({ data }) => data);
    },
    list,
    close,
  };
}
