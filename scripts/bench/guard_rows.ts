/**
 * The rows about guards: what a guard adds to a write, over the own state and over that of another
 * aggregate, and what it leaves of a hot stream. All event types have the same schema and handler.
 *
 * Shares are of the server's processor time, which is the same on a busy machine. The loads
 * alternate, because a machine is not equally fast all the time.
 */

import { percentiles, runLoad, runWork } from "./load.ts";
import { BENCH_SPEC, eventData, METADATA, streamId } from "./requests.ts";
import { deployBenchSpec, type Target, targetOf } from "./server_measures.ts";
import type { ServerProcess } from "../../tests/support/server_process.ts";
import type { Row } from "./table.ts";

export interface GuardBench {
  readonly isQuick: boolean;
  readonly start: () => Promise<ServerProcess>;
  readonly add: (row: Row) => void;
}

const { schema, handler } = BENCH_SPEC.aggregate_types.account.events.was_credited;
const event = {
  handler,
  schema: { ...schema, properties: { ...schema.properties, other: { type: "string" } } },
};
const MESSAGE = "The account is closed";

const GUARD_SPEC = {
  agent_types: BENCH_SPEC.agent_types,
  aggregate_types: {
    account: {
      events: {
        was_credited: event,
        was_guarded: {
          ...event,
          guards: [{ require: { not: { gt: ["@.bookings", 1e12] } }, message: MESSAGE }],
        },
        was_linked: {
          ...event,
          guards: [{
            with: { other: { type: "account", id: "$.data.other" } },
            require: { gt: ["$.with.other.bookings", 0] },
            message: MESSAGE,
          }],
        },
      },
    },
  },
};

type EventType = keyof typeof GUARD_SPEC.aggregate_types.account.events;

const TYPES: readonly EventType[] = ["was_credited", "was_guarded", "was_linked"];
const CONNECTIONS = 64;
const STREAMS = 5_000;
/** The first streams of each event type. */
const TYPE_STREAMS = 100_000;
/** Aggregates that are looked at and never written. */
const FIRST_OTHER = 1_000_000;
const OTHERS = 1_000;
const ROUNDS = 4;

/** What was measured of one event type, round by round. */
interface Measured {
  readonly micros: number[];
  readonly rates: number[];
}

async function fillOthers({ port, requests }: Target): Promise<void> {
  let number = 0;
  await runWork({
    port,
    connections: 8,
    expectedStatus: 201,
    next: () =>
      number < OTHERS ? requests.single(streamId(FIRST_OTHER + number), number++) : undefined,
  });
}

async function measureLoads(
  { port, serverPid, requests }: Target,
  types: readonly EventType[],
  streams: number,
  seconds: number,
): Promise<ReadonlyMap<EventType, Measured>> {
  const measured = new Map<EventType, Measured>();
  for (const type of types) measured.set(type, { micros: [], rates: [] });
  let number = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    for (const type of types) {
      const result = await runLoad({
        port,
        serverPid,
        connections: CONNECTIONS,
        seconds,
        warmupSeconds: 1,
        expectedStatus: 201,
        next() {
          const other = streamId(FIRST_OTHER + number % OTHERS);
          const data = `${eventData(number).slice(0, -1)},"other":"${other}"}`;
          // A state is in memory where the last write had guards: each type has its streams.
          const stream = streamId(TYPES.indexOf(type) * TYPE_STREAMS + number++ % streams);
          const path = `/account/${stream}/${type}`;
          return requests.write(path, `{"data":${data},"metadata":${METADATA}}`);
        },
      });
      // The first round compiles the paths.
      if (round === 0) continue;
      measured.get(type)!.micros.push(result.serverMicrosPerUnit);
      measured.get(type)!.rates.push(result.requestsPerSecond);
    }
  }
  return measured;
}

function middle(values: readonly number[]): number {
  return percentiles(values.toSorted((one, other) => one - other)).p50;
}

function noteOf({ micros, rates }: Measured): string {
  return `${middle(micros).toFixed(0)} us, ${middle(rates).toFixed(0)} req/s`;
}

/** Adds the rows. The server that it starts is always ended. */
export async function measureGuards({ isQuick, start, add }: GuardBench): Promise<void> {
  const server = await start();
  try {
    await deployBenchSpec(server, "staging", GUARD_SPEC);
    const target = targetOf(server, "staging");
    await fillOthers(target);
    const seconds = isQuick ? 2 : 5;
    const wide = await measureLoads(target, TYPES, STREAMS, seconds);
    const [plain, own, other] = TYPES.map((type) => wide.get(type)!);
    add({
      name: "guard over the own state, of a write without",
      value: middle(own!.micros) / middle(plain!.micros),
      unit: "x",
      target: { below: 1.15 },
      note: `${noteOf(own!)}; without: ${noteOf(plain!)}`,
    });
    add({
      name: "guard over one other aggregate, of a write without",
      value: middle(other!.micros) / middle(plain!.micros),
      unit: "x",
      target: { below: 1.35 },
      note: noteOf(other!),
    });
    const hot = await measureLoads(target, ["was_credited", "was_guarded"], 1, seconds);
    const [free, guarded] = [hot.get("was_credited")!, hot.get("was_guarded")!];
    add({
      name: "hot stream with a guard, of one without",
      value: middle(guarded.rates) / middle(free.rates),
      unit: "x",
      target: { atLeast: 0.6 },
      note: `${noteOf(guarded)}; without: ${noteOf(free)}`,
    });
  } finally {
    await server.kill();
  }
}
