/**
 * Measures the delay of the server's event loop from the histogram in `/metrics`.
 *
 * The delay is the highest bucket that has grown meanwhile, or undefined if the server lacks
 * that histogram.
 */

import type { ServerProcess } from "../../tests/support/server_process.ts";

const NAME = "daybook_event_loop_delay_seconds_bucket";
const ASK_MS_MAX = 30_000;

type Buckets = readonly (readonly [milliseconds: number, count: number])[];

export interface DelayWatch {
  end(): Promise<number | undefined>;
}

export async function longestDelay(server: ServerProcess): Promise<DelayWatch> {
  const first = await readBuckets(server);
  return {
    async end() {
      const last = await readBuckets(server);
      if (first === undefined || last === undefined) return undefined;
      return highestGrown(first, last);
    },
  };
}

/** Buckets are cumulative: the first one that has all new values is the highest that has grown. */
export function highestGrown(before: Buckets, after: Buckets): number | undefined {
  const grown = after.map(([limit, count], at) => [limit, count - (before[at]?.[1] ?? 0)] as const);
  const total = grown.at(-1)?.[1] ?? 0;
  return grown.find(([, count]) => count === total)?.[0];
}

async function readBuckets(server: ServerProcess): Promise<Buckets | undefined> {
  try {
    const reply = await fetch(`${server.baseUrls.test}/metrics`, {
      headers: { authorization: `Bearer ${server.credentials.operator_token}` },
      signal: AbortSignal.timeout(ASK_MS_MAX),
    });
    const lines = (await reply.text()).split("\n").filter((line) => line.startsWith(NAME));
    if (lines.length === 0) return undefined;
    return lines.map((line) => {
      const [, limit, count] = /le="([^"]+)"[^}]*\} (\S+)/.exec(line)!;
      return [limit === "+Inf" ? Infinity : Number(limit) * 1000, Number(count)] as const;
    });
  } catch {
    return undefined;
  }
}
