/** Closed loops: each connection asks, waits for the reply, and asks again; all latencies count. */

import { bodyText, openConnection, type Reply } from "./http_connection.ts";
import { processorMicros } from "./machine.ts";

export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  /** Measured time, after the warm-up. */
  readonly seconds: number;
  readonly warmupSeconds?: number;
  readonly expectedStatus: number;
  /** The parts of a connection's next request; they must not change until the reply. */
  readonly next: (connection: number) => readonly Uint8Array[];
  /** The server's process, whose processor time is divided by the units. */
  readonly serverPid?: number;
  /** The same for a server of several processes, as they are when the measured time begins. */
  readonly serverPids?: () => readonly number[];
  /** Sees each reply and returns the units to count for it; without it, each reply counts as 1. */
  readonly onReply?: (reply: Reply, connection: number) => number;
}

export interface LoadResult {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly unitsPerSecond: number;
  /** Processor time of the server for one unit, of all its threads together. */
  readonly serverMicrosPerUnit: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Runs the loops; throws if a reply has another status than expected. */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { connections, seconds, warmupSeconds = 1 } = options;
  const tally = { units: 0, latencies: [] as number[] };
  const begin = performance.now() + warmupSeconds * 1000;
  const end = begin + seconds * 1000;
  const [serverMicros] = await Promise.all([
    processorTimeBetween(options.serverPids ?? pidsOf(options.serverPid), begin, end),
    ...Array.from(
      { length: connections },
      (_, i) => runLoop(options, { index: i, begin, end }, tally),
    ),
  ]);
  return {
    requests: tally.latencies.length,
    requestsPerSecond: tally.latencies.length / seconds,
    unitsPerSecond: tally.units / seconds,
    serverMicrosPerUnit: serverMicros / tally.units,
    ...percentiles(tally.latencies),
  };
}

function pidsOf(pid: number | undefined): (() => readonly number[]) | undefined {
  return pid === undefined ? undefined : () => [pid];
}

async function processorTimeBetween(
  findPids: (() => readonly number[]) | undefined,
  begin: number,
  end: number,
): Promise<number> {
  if (findPids === undefined) return NaN;
  await pause(begin - performance.now());
  const before = findPids().map((pid) => ({ pid, micros: micros(pid) ?? 0 }));
  await pause(end - performance.now());
  return before.reduce((sum, each) => sum + (micros(each.pid) ?? each.micros) - each.micros, 0);
}

/** Undefined if the process has ended: databases have processes that come and go. */
function micros(pid: number): number | undefined {
  try {
    return processorMicros(pid);
  } catch {
    return undefined;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

interface LoopTurn {
  readonly index: number;
  readonly begin: number;
  readonly end: number;
}

async function runLoop(
  options: LoadOptions,
  { index, begin, end }: LoopTurn,
  tally: { units: number; latencies: number[] },
): Promise<void> {
  const connection = await openConnection(options.port);
  let sentAt = performance.now();
  try {
    while (sentAt < end) {
      const reply = await connection.exchange(...options.next(index));
      const heardAt = performance.now();
      if (reply.status !== options.expectedStatus) {
        throw new Error(`expected ${options.expectedStatus}: ${reply.status} ${bodyText(reply)}`);
      }
      const units = options.onReply === undefined ? 1 : options.onReply(reply, index);
      if (heardAt >= begin && heardAt <= end) {
        tally.latencies.push(heardAt - sentAt);
        tally.units += units;
      }
      sentAt = performance.now();
    }
  } finally {
    connection.close();
  }
}

/**
 * The same loops for a fixed amount of work: each connection asks until `next` returns
 * undefined.
 */
export async function runWork(
  options: Pick<LoadOptions, "port" | "connections" | "expectedStatus"> & {
    readonly next: (connection: number) => readonly Uint8Array[] | undefined;
    readonly onReply?: (reply: Reply) => void;
  },
): Promise<{ seconds: number; requests: number }> {
  const startedAt = performance.now();
  let requests = 0;
  await Promise.all(
    Array.from({ length: options.connections }, async (_, index) => {
      const connection = await openConnection(options.port);
      for (;;) {
        const parts = options.next(index);
        if (parts === undefined) break;
        const reply = await connection.exchange(...parts);
        if (reply.status !== options.expectedStatus) {
          throw new Error(`expected ${options.expectedStatus}: ${reply.status} ${bodyText(reply)}`);
        }
        options.onReply?.(reply);
        requests++;
      }
      connection.close();
    }),
  );
  return { seconds: (performance.now() - startedAt) / 1000, requests };
}

export function percentiles(
  latencies: readonly number[],
): Pick<LoadResult, "p50" | "p95" | "p99" | "max"> {
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}
