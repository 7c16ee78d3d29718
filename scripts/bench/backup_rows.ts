/**
 * What backups and the archive cost: rates beside those of `cp`, memory, and the writes that go on
 * meanwhile. The store is filled below the API, because that is how fast a disk is filled.
 */

import { join } from "node:path";
import { type ServerProcess, startServer } from "../../tests/support/server_process.ts";
import { openSqliteEngine } from "../../src/kv/sqlite/engine.ts";
import { pack } from "../../src/kv/tuple.ts";
import type { Bench } from "./bench.ts";
import { daybook, envOf, peakOf, timed } from "./commands.ts";
import { deployBenchSpec, fillStreams, measureSingles, targetOf } from "./server_measures.ts";

const MB = 1_000_000;
const STORE_MB = 10_000;
const QUICK_STORE_MB = 1_000;
const VALUE_BYTES = 3_500;
const VALUES_AT_A_TIME = 1_000;
const CONNECTIONS = 64;
const ROUNDS = 4;
const MEMORY_MB_MAX = 300;

export async function measureBackups(bench: Bench): Promise<void> {
  const { dataDir, isQuick } = bench;
  const megabytes = isQuick ? QUICK_STORE_MB : STORE_MB;
  const store = join(dataDir, "large");
  await fill(join(store, "daybook.sqlite"), megabytes);
  await measureLarge(bench, store, megabytes);
  await measureArchive(bench);
}

async function fill(path: string, megabytes: number): Promise<void> {
  const engine = openSqliteEngine({ path });
  const values = Math.ceil(megabytes * MB / VALUE_BYTES);
  for (let from = 0; from < values; from += VALUES_AT_A_TIME) {
    await engine.transact((tx) => {
      for (let at = from; at < from + VALUES_AT_A_TIME; at++) {
        tx.set(pack([0, "bench", at]), crypto.getRandomValues(new Uint8Array(VALUE_BYTES)));
      }
      return Promise.resolve();
    });
  }
  await engine.close();
}

async function measureLarge(bench: Bench, store: string, megabytes: number): Promise<void> {
  const { dataDir, wrapper, isQuick, add } = bench;
  const file = join(dataDir, "large.backup");
  const copied = join(dataDir, "copied");
  const cp = await timed(["sh", "-c", `cp ${store}/daybook.sqlite ${copied} && sync -d ${copied}`]);
  await Deno.remove(copied);
  const atLeast = Math.min(megabytes / 60, megabytes / cp.seconds / 2);
  const server = await startServer({ dataDir: store, wrapper, readyTimeoutMs: 60_000 });
  try {
    await deployBenchSpec(server);
    const target = targetOf(server);
    await fillStreams(target, 1);
    const taken = await timed(backupCommand(file), envOf(server));
    add({
      name: `backup of ${megabytes} MB`,
      value: megabytes / taken.seconds,
      unit: "MB/s",
      target: { atLeast },
      note: `checked and synced; cp ${Math.round(megabytes / cp.seconds)} MB/s`,
    });
    const before = await peakOf(server.pid);
    add({
      name: "memory of the server, at most",
      value: before,
      unit: "MiB",
      target: { below: MEMORY_MB_MAX },
      note: `the command ${taken.peakMb.toFixed(0)} MiB`,
    });
    await Deno.remove(file);
    await measureBeside(server, file, isQuick ? 5 : 10, add);
  } finally {
    await server.stop();
  }
  await Deno.remove(file).catch(() => {});
  await timed(backupCommand(file), { DAYBOOK_DATA_DIR: store });
  const restored = join(dataDir, "restored");
  const command = daybook("restore", file);
  const { seconds, peakMb } = await timed(command, { DAYBOOK_DATA_DIR: restored });
  add({
    name: `restore of ${megabytes} MB`,
    value: megabytes / seconds,
    unit: "MB/s",
    target: { atLeast },
    note: `at most ${peakMb.toFixed(0)} MiB of memory`,
  });
  await Deno.remove(restored, { recursive: true });
  await Deno.remove(file);
}

/** Writes alone and beside backups that follow each other, in turns. */
async function measureBeside(
  server: ServerProcess,
  file: string,
  seconds: number,
  add: Bench["add"],
): Promise<void> {
  const target = targetOf(server);
  const rates = { alone: [] as number[], beside: [] as number[] };
  const slowest = { alone: [] as number[], beside: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const way of ["alone", "beside"] as const) {
      let isOver = false;
      const backups = (async () => {
        while (way === "beside" && !isOver) {
          await timed(backupCommand(file), envOf(server));
          await Deno.remove(file).catch(() => {});
        }
      })();
      const result = await measureSingles(target, CONNECTIONS, seconds);
      isOver = true;
      rates[way].push(result.requestsPerSecond);
      slowest[way].push(result.p99);
      await backups;
    }
  }
  add({
    name: "single POST, 64, during backups",
    value: 100 * median(rates.beside) / median(rates.alone),
    unit: "% of without",
    target: { atLeast: 90 },
    note: `${median(rates.beside).toFixed(0)} and ${median(rates.alone).toFixed(0)} req/s, p99 ` +
      `${median(slowest.beside).toFixed(0)} and ${median(slowest.alone).toFixed(0)} ms`,
  });
}

/** Two servers take turns, each on a store of its own; one of them keeps an archive. */
async function measureArchive({ dataDir, wrapper, isQuick, add }: Bench): Promise<void> {
  const start = (name: string, env: Record<string, string>) =>
    startServer({ dataDir: join(dataDir, name), wrapper, env });
  const servers = {
    without: await start("without", {}),
    with: await start("with", { DAYBOOK_ARCHIVE_DIR: join(dataDir, "archive") }),
  };
  const rates = { without: [] as number[], with: [] as number[] };
  const slowest = { without: [] as number[], with: [] as number[] };
  let behind = 0;
  try {
    for (const server of Object.values(servers)) {
      await deployBenchSpec(server);
      await fillStreams(targetOf(server), 20);
    }
    for (let round = 0; round < ROUNDS; round++) {
      const order = round % 2 === 0 ? ["without", "with"] as const : ["with", "without"] as const;
      for (const way of order) {
        const watch = setInterval(async () => {
          behind = Math.max(behind, await behindOf(servers.with));
        }, 200);
        const result = await measureSingles(targetOf(servers[way]), CONNECTIONS, isQuick ? 5 : 10);
        clearInterval(watch);
        rates[way].push(result.requestsPerSecond);
        slowest[way].push(result.p99);
      }
    }
  } finally {
    for (const server of Object.values(servers)) await server.stop();
  }
  add({
    name: "single POST, 64, with an archive",
    value: 100 * median(rates.with) / median(rates.without),
    unit: "% of without",
    target: { atLeast: 95 },
    note: `${median(rates.with).toFixed(0)} and ${median(rates.without).toFixed(0)} req/s, p99 ` +
      `${median(slowest.with).toFixed(0)} and ${median(slowest.without).toFixed(0)} ms`,
  });
  add({ name: "the archive is behind, at most", value: behind, unit: "s", target: { below: 1 } });
}

async function behindOf(server: ServerProcess): Promise<number> {
  const text = await (await fetch(`${server.baseUrls.test}/metrics`)).text();
  return Number(/^daybook_archive_behind_seconds (\S+)$/m.exec(text)?.[1] ?? 0);
}

function backupCommand(file: string): string[] {
  return daybook("backup", "--out", file);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
