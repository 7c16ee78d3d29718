/**
 * What the client costs beside the bare `fetch` of the same runtime: 64 calls at a time, in rounds
 * that alternate. The bare calls do what an application has to do itself: they send the same
 * request, a write with a key of its own, and read the answer as JSON.
 */

import { createClient } from "@daybook/client";
import type { ServerProcess } from "../../tests/support/server_process.ts";
import { processorMicros } from "./machine.ts";
import { eventData, METADATA, streamId } from "./requests.ts";
import { deployBenchSpec, fillStreams, STREAMS, targetOf } from "./server_measures.ts";
import type { Row } from "./table.ts";

const CALLS_AT_A_TIME = 64;
const SHARE_MIN = 85;

/** One call; throws unless it did what was asked. */
type CallOnce = (number: number) => Promise<void>;

interface Pair {
  readonly name: string;
  readonly bare: CallOnce;
  readonly client: CallOnce;
}

export async function measureSdk(
  { start, isQuick, add }: {
    readonly start: () => Promise<ServerProcess>;
    readonly isQuick: boolean;
    readonly add: (row: Row) => void;
  },
): Promise<void> {
  const server = await start();
  try {
    await deployBenchSpec(server);
    await fillStreams(targetOf(server), 1);
    for (const pair of pairsOf(server)) {
      const [rounds, seconds] = isQuick ? [3, 1] : [8, 2];
      const counts = { bare: 0, client: 0 };
      const micros = { bare: 0, client: 0 };
      for (const call of [pair.bare, pair.client]) await callFor(1, call);
      for (let round = 0; round < rounds; round++) {
        // Whoever comes first in a round comes second in the next.
        const order = round % 2 === 0 ? ["bare", "client"] as const : ["client", "bare"] as const;
        for (const way of order) {
          const before = processorMicros(Deno.pid);
          counts[way] += await callFor(seconds, pair[way]);
          micros[way] += processorMicros(Deno.pid) - before;
        }
      }
      const told = (way: "bare" | "client") =>
        `${Math.round(counts[way] / rounds / seconds)} calls/s of ` +
        `${Math.round(micros[way] / counts[way])} us CPU here`;
      add({
        name: `client, ${pair.name}, ${CALLS_AT_A_TIME} at a time`,
        value: 100 * counts.client / counts.bare,
        unit: "% of fetch",
        target: { atLeast: SHARE_MIN },
        note: `${told("client")}, bare fetch ${told("bare")}`,
      });
    }
  } finally {
    await server.kill();
  }
}

function pairsOf(server: ServerProcess): readonly Pair[] {
  const url = server.baseUrls.test;
  const key = server.credentials.keys.test.write;
  const metadata = JSON.parse(METADATA);
  const db = createClient({ url, key, actor: metadata.actor });
  const authorization = `Bearer ${key}`;
  const idOf = (number: number) => streamId(number % STREAMS);

  async function read(response: Response): Promise<void> {
    const body = await response.json();
    if (!body.ok) throw new Error(JSON.stringify(body));
  }

  return [
    {
      name: "writes",
      async bare(number) {
        const body = JSON.stringify({ data: JSON.parse(eventData(number)), metadata });
        await read(
          await fetch(`${url}/account/${encodeURIComponent(idOf(number))}/was_credited`, {
            method: "POST",
            headers: {
              authorization,
              "content-type": "application/json",
              "x-idempotency-key": crypto.randomUUID(),
            },
            body,
          }),
        );
      },
      async client(number) {
        const data = JSON.parse(eventData(number));
        await db.account!(idOf(number)).was_credited!(data).orThrow();
      },
    },
    {
      name: "reads of states",
      async bare(number) {
        const path = `/account/${encodeURIComponent(idOf(number))}`;
        await read(await fetch(url + path, { headers: { authorization } }));
      },
      async client(number) {
        await db.account!(idOf(number)).get().orThrow();
      },
    },
  ];
}

/** How many calls end in so many seconds. */
async function callFor(seconds: number, call: CallOnce): Promise<number> {
  const endMs = performance.now() + seconds * 1000;
  let [begun, ended] = [0, 0];
  async function callOn(): Promise<void> {
    while (performance.now() < endMs) {
      await call(begun++);
      ended++;
    }
  }
  await Promise.all(Array.from({ length: CALLS_AT_A_TIME }, callOn));
  return ended;
}
