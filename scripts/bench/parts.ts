/** The parts of the bench that run alone, each on its own stores. */

import { type ServerProcess, startServer } from "../../tests/support/server_process.ts";
import { measureAnchors } from "./anchor_measures.ts";
import { measureOffline } from "./audit_measures.ts";
import { measureBackups } from "./backup_rows.ts";
import type { Bench } from "./bench.ts";
import { measureConsole } from "./console_rows.ts";
import { measureDeliveries } from "./delivery_rows.ts";
import { measureEngines } from "./engine_rows.ts";
import { EMBEDDED_GOALS, measureFeed } from "./feed_rows.ts";
import { measureGeo } from "./geo_rows.ts";
import { measureGuards } from "./guard_rows.ts";
import { measureImports } from "./import_rows.ts";
import { measureLimits } from "./limit_measures.ts";
import { measureNodes } from "./node_rows.ts";
import { measureOverload } from "./overload_measures.ts";
import { measureProjections } from "./projection_rows.ts";
import { measureReactions } from "./reaction_rows.ts";
import { measureSdk } from "./sdk_rows.ts";
import * as measures from "./server_measures.ts";
import { measureSize } from "./size_rows.ts";
import { measureTakeover } from "./takeover_rows.ts";
import { measureTypes } from "./type_rows.ts";
import { measureWasm } from "./wasm_measures.ts";
import { measureJudged } from "./wasm_server_measures.ts";

export interface Part {
  /** For the help of the command. */
  readonly about: string;
  /** It runs in several processes, or in this one, and needs all cores. */
  readonly isUnpinned?: true;
  run(bench: Bench): Promise<void>;
}

/** By the names of their options. */
export const PARTS = {
  reactions: { about: "what events set off", run: (bench) => measureReactions(onOneStore(bench)) },
  deliveries: {
    about: "what is sent to listeners",
    run: (bench) =>
      measureDeliveries(onOneStore(bench, { DAYBOOK_ALLOW_PRIVATE_WEBHOOKS: "true" })),
  },
  projections: {
    about: "how views follow, are built and exported",
    run: (bench) => measureProjections(onOneStore(bench)),
  },
  feed: { about: "how the feed is followed, and what live readers cost", run: runFeed },
  wasm: {
    about: "calls of WebAssembly modules, and the writes that they judge",
    isUnpinned: true,
    async run(bench) {
      await measureWasm(bench.add);
      await measureJudged(onOneStore(bench).start, bench.add);
    },
  },
  types: {
    about: "how long the compiler takes with the types of a spec",
    isUnpinned: true,
    run: (bench) => Promise.resolve(measureTypes(bench.add)),
  },
  console: {
    about: "what the console costs in Chromium",
    isUnpinned: true,
    run: (bench) => measureConsole(bench.isQuick, bench.add),
  },
  backup: {
    about: "backups of 10 GB (--quick: of 1 GB), and the archive",
    run: (bench) => measureBackups(bench),
  },
  imports: {
    about: "imports of 2 GB (--quick: of 200 MB)",
    run: (bench) => measureImports(onNewStores(bench)),
  },
  audit: {
    about: "anchors and bundles of large environments",
    isUnpinned: true,
    async run(bench) {
      await measureOffline(bench.add);
      await measureAnchors(bench.isQuick, bench.add);
    },
  },
  geo: { about: "a million points (3 minutes)", run: (bench) => measureGeo(onOneStore(bench)) },
  guards: { about: "what guards cost", run: (bench) => measureGuards(onOneStore(bench)) },
  engines: { about: "both engines side by side; needs FoundationDB", run: measureEngines },
  nodes: {
    about: "four servers on one cluster; needs FoundationDB",
    isUnpinned: true,
    run: measureNodes,
  },
  takeover: {
    about: "how late events are after a node was killed or stopped; needs FoundationDB",
    isUnpinned: true,
    run: measureTakeover,
  },
  size: {
    about: "a cluster of a million streams under load (--quick: 100,000); needs FoundationDB",
    isUnpinned: true,
    run: measureSize,
  },
  overload: { about: "three times as many writes as it can do", run: runOverload },
  sdk: {
    about: "what the client costs beside bare fetch",
    run: (bench) => measureSdk(onOneStore(bench)),
  },
  limits: { about: "what rate limits cost a request", run: (bench) => measureLimits(bench.add) },
} as const satisfies Readonly<Record<string, Part>>;

/** Events stored in each stream before the overload. */
const EVENTS_EACH = 20;

export type PartName = keyof typeof PARTS;

/** For parts that start a server themselves. */
interface OnStore extends Bench {
  readonly start: () => Promise<ServerProcess>;
}

/** Each start continues on the store that the one before has left. */
function onOneStore(bench: Bench, env?: Record<string, string>): OnStore {
  const { dataDir, wrapper } = bench;
  return { ...bench, start: () => startServer({ dataDir, wrapper, env }) };
}

/** Each start has an empty store. */
function onNewStores(bench: Bench): OnStore {
  const { wrapper } = bench;
  async function start(): Promise<ServerProcess> {
    return await startServer({ dataDir: await Deno.makeTempDir({ dir: bench.dataDir }), wrapper });
  }
  return { ...bench, start };
}

async function runFeed(bench: Bench): Promise<void> {
  const server = await onOneStore(bench).start();
  try {
    await measures.deployBenchSpec(server);
    const target = measures.targetOf(server);
    await measureFeed({ ...bench, writer: target, reader: target, goals: EMBEDDED_GOALS });
  } finally {
    await server.kill();
  }
}

async function runOverload(bench: Bench): Promise<void> {
  const server = await onOneStore(bench).start();
  try {
    await measures.deployBenchSpec(server);
    const target = measures.targetOf(server);
    // As in the main table: an empty store is faster at first.
    await measures.fillStreams(target, EVENTS_EACH);
    await measureOverload(target, bench.isQuick ? 5 : 10, bench.add);
  } finally {
    await server.kill();
  }
}
