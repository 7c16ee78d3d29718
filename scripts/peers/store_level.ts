/**
 * Measures the stores without HTTP, in a separate process: appends by several writers at a
 * time.
 *
 * The arguments are the store or `daybook`, the connection or folder as JSON, seconds, warm-up
 * seconds, and writers. Prints JSON.
 */

import { BENCH_SPEC, eventData, METADATA, streamId } from "../bench/requests.ts";
import { openPeerStore, type StoreName } from "./peer_store.ts";

export interface StoreRates {
  readonly spread: number;
  readonly hot: number;
}

interface Times {
  readonly seconds: number;
  readonly warmupSeconds: number;
  readonly writers: number;
}

interface Appender {
  append(stream: string, data: unknown): Promise<unknown>;
  close(): Promise<void>;
}

const STREAMS = 5_000;
const TYPE = "was_credited";

async function openPeer(name: StoreName, connection: string): Promise<Appender> {
  const store = await openPeerStore(name, JSON.parse(connection));
  const metadata = JSON.parse(METADATA);
  return {
    append: (stream, data) => store.append(`account-${stream}`, [{ type: TYPE, data, metadata }]),
    close: () => store.close(),
  };
}

/** Daybook: the service as the HTTP layer calls it, with schema check, hash chain and all else. */
async function openOurs(folder: string): Promise<Appender> {
  const { openSqliteEngine } = await import("../../src/kv/sqlite/engine.ts");
  const { systemHost } = await import("../../src/host.ts");
  const { createAccess } = await import("../../src/features/access/access_service.ts");
  const { createService } = await import("../../src/features/service.ts");
  const host = systemHost();
  const engine = openSqliteEngine({ path: `${JSON.parse(folder).folder}/daybook.sqlite` });
  const access = createAccess(engine, host, { jwtSecret: host.randomBytes(32) });
  const service = createService(engine, host, access);
  const instance = await access.createInstance("bench", "unlimited");
  if (!instance.ok) throw new Error(instance.refusal.kind);
  const tenant = await access.resolveTenant({ subject: "bench" }, instance.value.id, "test");
  if (!tenant.ok) throw new Error(tenant.refusal.kind);
  const spec = { spec: BENCH_SPEC, force: false, dryRun: false };
  const deployed = await service.specs.deploySpec(tenant.value, spec);
  if (!deployed.ok) throw new Error(deployed.refusal.kind);
  const metadata = JSON.parse(METADATA);
  return {
    async append(id, data) {
      const targets = [{ aggregateType: "account", id, events: [{ type: TYPE, data }] }];
      const request = { form: "single", targets, metadata, requestId: "bench" } as const;
      const outcome = await service.data.writeEvents(tenant.value, request);
      if (!outcome.ok) throw new Error(outcome.refusal.kind);
    },
    async close() {
      await service.close();
      await access.close();
      await engine.close();
    },
  };
}

/** Appends per second by `writers` writers, each of which makes one append after the other. */
async function measure(
  appender: Appender,
  { seconds, warmupSeconds, writers }: Times,
  choose: (number: number) => number,
): Promise<number> {
  const beginMs = performance.now() + warmupSeconds * 1000;
  const endMs = beginMs + seconds * 1000;
  let [number, done] = [0, 0];
  await Promise.all(Array.from({ length: writers }, async () => {
    while (performance.now() < endMs) {
      const own = number++;
      await appender.append(streamId(choose(own)), JSON.parse(eventData(own)));
      const nowMs = performance.now();
      if (nowMs >= beginMs && nowMs <= endMs) done++;
    }
  }));
  return done / seconds;
}

if (import.meta.main) {
  const [name, connection, ...numbers] = Deno.args;
  const [seconds = 0, warmupSeconds = 0, writers = 0] = numbers.map(Number);
  const appender = name === "daybook"
    ? await openOurs(connection!)
    : await openPeer(name as StoreName, connection!);
  const times = { seconds, warmupSeconds, writers };
  const spread = await measure(appender, times, (number) => number % STREAMS);
  const warm = { ...times, warmupSeconds: seconds / 4 };
  const hot = await measure(appender, warm, () => STREAMS);
  console.log(JSON.stringify({ spread, hot } satisfies StoreRates));
  await appender.close();
  Deno.exit(0);
}
