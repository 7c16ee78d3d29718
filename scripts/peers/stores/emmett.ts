/** What Emmett's event stores have in common, on whatever database. */

import type { PeerEvent, PeerStore } from "../peer_store.ts";

interface EmmettStore {
  appendToStream(
    stream: string,
    events: readonly { type: string; data: unknown; metadata: unknown }[],
  ): Promise<{ readonly nextExpectedStreamVersion: bigint }>;
  readStream(stream: string): Promise<{ readonly events: readonly { data: unknown }[] }>;
}

const TRIES_MAX = 10_000;

/** Without an expected version two writers may still meet: the store then says so, or is busy. */
function isConflict(error: unknown): boolean {
  const { name, code, message } = error as { name?: string; code?: string; message?: string };
  return /ExpectedVersionConflict|Concurrency/.test(name ?? "") || code === "23505" ||
    /SQLITE_BUSY|UNIQUE constraint|Expected version/i.test(message ?? "");
}

/** `appendToStream` and `readStream` of any of them; it has no write over several streams. */
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
