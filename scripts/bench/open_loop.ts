/**
 * Open loops: work begins at its due time, whether or not earlier work has ended.
 *
 * That holds as long as a connection is free; therefore latency counts from the due time.
 */

import { type HttpConnection, openConnection, type Reply } from "./http_connection.ts";

export interface OpenLoopOptions {
  readonly port: number;
  /** Maximum number of works under way at a time. */
  readonly connections: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** Ends the loop before that. */
  readonly until?: AbortSignal;
  /** Does the work of that number; `dueMs` is when it should begin, by `performance.now()`. */
  readonly perform: (connection: HttpConnection, number: number, dueMs: number) => Promise<void>;
}

/** Throws what any work throws. Returns the seconds from the first beginning to the last end. */
export async function runOpenLoop(options: OpenLoopOptions): Promise<number> {
  const { port, connections, perSecond, seconds, until, perform } = options;
  const count = Math.round(perSecond * seconds);
  const opening = Array.from({ length: connections }, () => openConnection(port));
  const opened = await Promise.all(opening);
  const startedMs = performance.now();
  let next = 0;
  await Promise.all(opened.map(async (connection) => {
    for (let number = next++; number < count && !until?.aborted; number = next++) {
      const dueMs = startedMs + number * 1000 / perSecond;
      await untilTime(dueMs);
      await perform(connection, number, dueMs);
    }
    connection.close();
  }));
  return (performance.now() - startedMs) / 1000;
}

/** `timeMs` is by `performance.now()`. */
export async function untilTime(timeMs: number): Promise<void> {
  const leftMs = timeMs - performance.now();
  if (leftMs > 0) await new Promise((resolve) => setTimeout(resolve, leftMs));
}

/** Asks until the reply is the right one; returns the time at which it came. */
export async function askUntil(
  connection: HttpConnection,
  request: readonly Uint8Array[],
  { everyMs, patienceMs, isThere }: {
    readonly everyMs: number;
    readonly patienceMs: number;
    readonly isThere: (reply: Reply) => boolean;
  },
): Promise<number> {
  const endMs = performance.now() + patienceMs;
  for (;;) {
    const reply = await connection.exchange(...request);
    const heardMs = performance.now();
    if (isThere(reply)) return heardMs;
    if (heardMs > endMs) throw new Error(`no such reply within ${patienceMs} ms`);
    await untilTime(heardMs + everyMs);
  }
}
