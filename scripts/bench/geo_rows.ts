/**
 * The rows about points: what `nearby` takes among a million of them, and what a point costs.
 *
 * The searches begin all over a region and in a town where points are dense, and go as far as
 * `nearby` may look. The cost of a point is what it adds to a write.
 */

import type { ServerProcess } from "../../tests/support/server_process.ts";
import { type LoadResult, runLoad, runWork } from "./load.ts";
import { BENCH_SPEC, eventData, METADATA, streamId } from "./requests.ts";
import { deployBenchSpec, type Target, targetOf, WRITE_WARMUP_SECONDS } from "./server_measures.ts";
import type { Row } from "./table.ts";

export interface GeoBench {
  readonly isQuick: boolean;
  readonly start: () => Promise<ServerProcess>;
  readonly add: (row: Row) => void;
}

const ENVIRONMENT = "staging";
const event = BENCH_SPEC.aggregate_types.account.events.was_credited;
const { schema } = event;
const located = {
  ...event,
  schema: { ...schema, properties: { ...schema.properties, at: { type: "object" } } },
};

/** Both events are checked and folded alike; only one of them has a point. */
const GEO_SPEC = {
  agent_types: BENCH_SPEC.agent_types,
  aggregate_types: {
    van: {
      events: {
        was_seen: { ...located, geo: { type: "point", path: "$.data.at" } },
        was_noted: located,
      },
    },
  },
};

/** 100 points per square kilometre, and a tenth of all points within one kilometre of the town. */
const SOUTH_WEST = { lat: 51.5, lng: 12.5 };
const DEGREES = { lat: 0.9, lng: 1.45 };
const TOWN = { lat: 52.52, lng: 13.405 };
const TOWN_SHARE = 0.1;
const KILOMETRE_DEGREES = { lat: 1 / 111.2, lng: 1 / 67.7 };
const TARGETS = 10;
const VANS_WRITTEN = 5_000;

interface Spot {
  readonly lat: number;
  readonly lng: number;
}

function inRegion(): Spot {
  return {
    lat: SOUTH_WEST.lat + Math.random() * DEGREES.lat,
    lng: SOUTH_WEST.lng + Math.random() * DEGREES.lng,
  };
}

function inTown(): Spot {
  const angle = 2 * Math.PI * Math.random();
  const far = Math.sqrt(Math.random());
  return {
    lat: TOWN.lat + far * Math.sin(angle) * KILOMETRE_DEGREES.lat,
    lng: TOWN.lng + far * Math.cos(angle) * KILOMETRE_DEGREES.lng,
  };
}

function seenText(number: number, { lat, lng }: Spot): string {
  return `${eventData(number).slice(0, -1)},"at":{"lat":${lat},"lng":${lng}}}`;
}

/** Writes one point for each of `count` vans, ten in each request. */
async function fill({ port, requests }: Target, count: number): Promise<number> {
  let number = 0;
  const { seconds } = await runWork({
    port,
    connections: 8,
    expectedStatus: 201,
    next() {
      if (number >= count) return undefined;
      const targets = Array.from({ length: TARGETS }, () => {
        const spot = number % (1 / TOWN_SHARE) === 0 ? inTown() : inRegion();
        const { lat, lng } = spot;
        const id = streamId(number++);
        return `{"aggregate_type":"van","id":"${id}","events":[{"type":"was_seen","data":` +
          `{"amount":1,"currency":"EUR","reference":"r","at":{"lat":${lat},"lng":${lng}}}}]}`;
      });
      const body = `{"targets":[${targets.join(",")}],"metadata":${METADATA}}`;
      return requests.write("/_atomic-write", body);
    },
  });
  return count / seconds;
}

interface Query {
  readonly from: () => Spot;
  readonly radius: number;
  readonly limit: number;
}

function search(
  { port, serverPid, requests }: Target,
  { from, radius, limit }: Query,
  connections: number,
  seconds: number,
): Promise<LoadResult> {
  return runLoad({
    port,
    serverPid,
    connections,
    seconds,
    warmupSeconds: 3,
    expectedStatus: 200,
    next() {
      const { lat, lng } = from();
      return requests.get(`/van/nearby?lat=${lat}&lng=${lng}&radius=${radius}&limit=${limit}`);
    },
  });
}

function write(
  { port, serverPid, requests }: Target,
  type: "was_seen" | "was_noted",
  seconds: number,
): Promise<LoadResult> {
  let number = 0;
  return runLoad({
    port,
    serverPid,
    connections: 64,
    seconds,
    warmupSeconds: WRITE_WARMUP_SECONDS,
    expectedStatus: 201,
    next() {
      const path = `/van/${streamId(number++ % VANS_WRITTEN)}/${type}`;
      return requests.write(
        path,
        `{"data":${seenText(number, inRegion())},"metadata":${METADATA}}`,
      );
    },
  });
}

/** Adds the rows. The server that it starts is always ended. */
export async function measureGeo({ isQuick, start, add }: GeoBench): Promise<void> {
  const server = await start();
  try {
    await deployBenchSpec(server, ENVIRONMENT, GEO_SPEC);
    const target = targetOf(server, ENVIRONMENT);
    const count = isQuick ? 100_000 : 1_000_000;
    const rate = await fill(target, count);
    add({ name: "fill, atomic writes of 10 points, 8", value: rate, unit: "events/s" });
    await measureSearches(target, count, isQuick ? 4 : 8, add);
    await measureWrites(target, isQuick ? 4 : 8, add);
  } catch (error) {
    console.error(`server: ${server.howItEnded() ?? "still running"}\n${server.output()}`);
    throw error;
  } finally {
    await server.kill();
  }
}

async function measureSearches(
  target: Target,
  count: number,
  seconds: number,
  add: GeoBench["add"],
): Promise<void> {
  const around = { from: inRegion, radius: 1_000, limit: 50 };
  const rows: readonly (readonly [name: string, query: Query, p99Max?: number])[] = [
    ["radius 1 km", around, 20],
    ["radius 1 km, limit 200", { ...around, limit: 200 }, 20],
    ["radius 1 km, in the town", { ...around, from: inTown, limit: 200 }, 20],
    ["radius 100 km, limit 200", { ...around, radius: 100_000, limit: 200 }, 20],
    ["radius 100 km, nothing near", {
      ...around,
      from: () => ({ lat: 0, lng: 0 }),
      radius: 100_000,
    }],
  ];
  for (const [name, query, p99BelowMs] of rows) {
    const found = await search(target, query, 1, seconds);
    add({
      name: `nearby, ${name}`,
      value: found.p99,
      unit: "ms p99",
      target: p99BelowMs === undefined ? undefined : { below: p99BelowMs },
      latency: found,
      note: `${count.toLocaleString("en")} points, 1 connection`,
    });
  }
  const many = await search(target, around, 16, seconds);
  add({
    name: "nearby, radius 1 km, 16",
    value: many.requestsPerSecond,
    unit: "req/s",
    latency: many,
    note: "all on one core",
  });
}

async function measureWrites(
  target: Target,
  seconds: number,
  add: GeoBench["add"],
): Promise<void> {
  const plain = await write(target, "was_noted", seconds);
  const seen = await write(target, "was_seen", seconds);
  for (const [name, result] of [["without", plain], ["with", seen]] as const) {
    add({
      name: `single POST ${name} a point, 64, 5,000 streams`,
      value: result.requestsPerSecond,
      unit: "req/s",
      latency: result,
    });
  }
  add({
    name: "processor time of a point, to a write without",
    value: seen.serverMicrosPerUnit / plain.serverMicrosPerUnit - 1,
    unit: "x",
    target: { below: 0.5 },
    note: `${(seen.serverMicrosPerUnit - plain.serverMicrosPerUnit).toFixed(0)} us`,
  });
}
