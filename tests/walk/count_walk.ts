/**
 * Counts the files, functions and calls of ours that one request passes on a warm server, by V8's
 * precise coverage. The server is the real one, on the embedded store, with the spec and the
 * requests of the bench; it has no workers, so that nothing else runs meanwhile. An async function
 * counts once more each time it goes on after an await.
 */

import { Session } from "node:inspector/promises";
import { BENCH_SPEC, eventData, METADATA, streamId } from "../../scripts/bench/requests.ts";
import { newThreadWatch } from "../../src/domain/fairness/thread_watch.ts";
import { countTransaction, newCounters } from "../../src/domain/measures/counters.ts";
import { createAccess } from "../../src/features/access/access_service.ts";
import { resolveTenant } from "../../src/features/access/instances.ts";
import { createService } from "../../src/features/service.ts";
import { systemHost } from "../../src/host.ts";
import { startServer } from "../../src/http/serve.ts";
import { measureEngine } from "../../src/kv/calls.ts";
import { openEngine } from "../../src/kv/open_engine.ts";
import { accepted, anyOperator, makeInstance, makeKey } from "../support/access_fixtures.ts";

export interface PassedFile {
  /** From the root of the repository. */
  readonly path: string;
  /** The calls of each function, in the order of the file. */
  readonly functions: readonly { readonly name: string; readonly calls: number }[];
}

/** What one request passes, in the order of the paths. */
export type Walk = readonly PassedFile[];

const ROOT = new URL("../../", import.meta.url).href;
const KEY = "x-idempotency-key";
const OURS = ["src/", "main.ts"];
/** Enough for everything that is remembered from one request to the next. */
const WARM_REQUESTS = 20;
/** The least of so many is what the request itself does: timers of the process only add to it. */
const COUNTED_REQUESTS = 20;

/** The requests that are followed, each on a warm server. */
export interface Walks {
  /** A POST of one event. */
  readonly post: Walk;
  /** The same with an idempotency key, which also hashes the body and keeps the answer. */
  readonly keyedPost: Walk;
  /** A GET of a state that is in the cache. */
  readonly cachedGet: Walk;
}

export async function countWalks(): Promise<Walks> {
  const server = await startBenchServer();
  try {
    let number = 0;
    const post = await leastWalk(() => server.post(number++));
    const keyedPost = await leastWalk(() => server.post(number, { [KEY]: `walk-${number++}` }));
    const cachedGet = await leastWalk(() => server.get());
    return { post, keyedPost, cachedGet };
  } finally {
    await server.stop();
  }
}

export function countFunctions(walk: Walk): number {
  return walk.reduce((sum, { functions }) => sum + functions.length, 0);
}

export function countCalls(walk: Walk): number {
  return walk.flatMap(({ functions }) => functions).reduce((sum, { calls }) => sum + calls, 0);
}

async function startBenchServer() {
  const dataDir = await Deno.makeTempDir({ prefix: "daybook_" });
  const host = systemHost();
  const counters = newCounters();
  const stored = await openEngine({ store: "sqlite", dataDir }, host);
  const engine = measureEngine(
    stored,
    host.monotonicMs,
    (isCommitted, runs, seconds) => countTransaction(counters.store, isCommitted, runs, seconds),
  );
  const access = createAccess(engine, host, { jwtSecret: new Uint8Array(32) });
  const service = createService(engine, host, access, { counters });
  const { id } = await makeInstance(engine, host, "bench");
  const tenant = accepted(await resolveTenant(engine, anyOperator, id, "test"));
  accepted(
    await service.specs.deploySpec(tenant, { spec: BENCH_SPEC, force: false, dryRun: false }),
  );
  const { key } = await makeKey(engine, host, tenant, "write");
  const running = await startServer(service, host, {
    hostname: "127.0.0.1",
    port: 0,
    headerPrefix: "SVC",
    clientAddress: (peer) => peer,
    watch: newThreadWatch(counters.loopDelaySeconds, host.monotonicMs()),
  });
  const { url } = running.addresses.find(({ environment }) => environment === "test")!;
  const address = `${url}/account/${streamId(1)}`;
  const authorization = `Bearer ${key}`;
  return {
    async post(number: number, headers: Readonly<Record<string, string>> = {}) {
      const body = `{"data":${eventData(number)},"metadata":${METADATA}}`;
      const all = { authorization, "content-type": "application/json", ...headers };
      const answer = fetch(`${address}/was_credited`, { method: "POST", headers: all, body });
      await expectStatus(201, answer);
    },
    get: () => expectStatus(200, fetch(address, { headers: { authorization } })),
    async stop() {
      await running.stop(1_000);
      await service.close();
      await access.close();
      await engine.close();
      await Deno.remove(dataDir, { recursive: true });
    },
  };
}

async function expectStatus(status: number, answer: Promise<Response>): Promise<void> {
  const response = await answer;
  const text = await response.text();
  if (response.status !== status) throw new Error(`answered ${response.status} ${text}`);
}

/** The walk with the fewest calls among several of the same request. */
async function leastWalk(send: () => Promise<void>): Promise<Walk> {
  for (let number = 0; number < WARM_REQUESTS; number++) await send();
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    const walks: Walk[] = [];
    for (let number = 0; number < COUNTED_REQUESTS; number++) {
      await settle();
      // Taking the counts sets them back to zero.
      await session.post("Profiler.takePreciseCoverage");
      await send();
      await settle();
      walks.push(passedFiles((await session.post("Profiler.takePreciseCoverage")).result));
    }
    return walks.reduce((least, walk) => countCalls(walk) < countCalls(least) ? walk : least);
  } finally {
    session.disconnect();
  }
}

/** Lets what a request leaves behind end, such as the sync behind a commit. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 20));
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly count: number }[];
  }[];
}

function passedFiles(coverage: readonly ScriptCoverage[]): Walk {
  return coverage
    .filter(({ url }) => OURS.some((ours) => url.startsWith(ROOT + ours)))
    .map(({ url, functions }) => ({
      path: url.slice(ROOT.length),
      functions: functions
        .map(({ functionName, ranges }) => ({ name: functionName, calls: ranges[0]!.count }))
        .filter(({ calls }) => calls > 0),
    }))
    .filter(({ functions }) => functions.length > 0)
    .sort((a, b) => a.path < b.path ? -1 : 1);
}
