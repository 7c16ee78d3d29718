/** A network to a real server that loses requests before they land, and answers after they have. */

import type { ServerProcess } from "../../support/server_process.ts";

export interface FaultyNetwork {
  /** For `createClient`, whose address may be any. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly lost: { requests: number; answers: number };
}

/** The address that clients have of a server which may be another process tomorrow. */
export const CLIENT_URL = "http://shop.test";

/** `server` is asked at each request, so that a server may be replaced by its next process. */
export function faultyNetwork(
  server: () => ServerProcess,
  { random, share }: { readonly random: () => number; readonly share: number },
): FaultyNetwork {
  const lost = { requests: 0, answers: 0 };
  return {
    lost,
    async fetch(url, init) {
      const isLost = random() < share;
      if (isLost && random() < 0.5) {
        lost.requests++;
        throw new TypeError("connection reset before the request was sent");
      }
      const response = await fetch(url.replace(CLIENT_URL, server().baseUrls.test), init);
      if (!isLost) return response;
      // The server has done it, and nobody hears.
      await response.arrayBuffer();
      lost.answers++;
      throw new TypeError("connection reset after the request was sent");
    },
  };
}
