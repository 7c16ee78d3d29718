/**
 * `deno task bench`: measures what the server does on one core and prints one table.
 *
 * The load generator runs on another core; durability, schema check, idempotency ledger and
 * hash chain are on. The targets are the project's own. What runs in several processes, or in
 * this one, is not pinned.
 */

import { Option } from "commander";
import { type Bench, openBench } from "./bench/bench.ts";
import { CLUSTER_PARTS, describeCluster, measureCluster } from "./bench/cluster_measures.ts";
import { describeMachine, pinLoadGenerator, serverWrapper } from "./bench/machine.ts";
import { runMain } from "./bench/main_table.ts";
import { type Part, type PartName, PARTS } from "./bench/parts.ts";
import { formatTable, isMet } from "./bench/table.ts";
import { readOptions, taskCommand } from "./options.ts";

interface Options extends Partial<Readonly<Record<PartName, true>>> {
  readonly quick?: true;
  readonly json?: string;
  readonly store: "sqlite" | "foundationdb";
}

function benchCommand() {
  const command = taskCommand(
    "bench",
    "What the server does on one core, in one table; or a part alone.",
  )
    .option("--quick", "without what needs millions of events stored before")
    .option("--json <file>", "also write the raw figures")
    .addOption(
      new Option("--store <name>", "foundationdb: one and two servers on a cluster it starts")
        .choices(["sqlite", "foundationdb"]).default("sqlite"),
    );
  for (const [name, { about }] of Object.entries(PARTS)) command.option(`--${name}`, about);
  return command;
}

/** The part that was asked for; undefined for the main table. */
function partOf(options: Options): Part | undefined {
  const names = Object.keys(PARTS) as PartName[];
  const name = names.find((each) => options[each] === true);
  return name && PARTS[name];
}

async function run(bench: Bench, options: Options): Promise<void> {
  if (options.store === "foundationdb") {
    const part = CLUSTER_PARTS.find((name) => options[name] === true);
    return await measureCluster({ ...bench, part }, bench.add);
  }
  await (partOf(options)?.run ?? runMain)(bench);
}

if (import.meta.main) {
  const options = readOptions<Options>(benchCommand());
  const isOnCluster = options.store === "foundationdb";
  // One server and the load generator get a core each. There are too few cores for several servers.
  const mayPin = !isOnCluster && partOf(options)?.isUnpinned !== true;
  const isPinned = mayPin && await pinLoadGenerator();
  const machine = await describeMachine(isPinned);
  if (isOnCluster) machine.push(await describeCluster());
  const dataDir = await Deno.makeTempDir({ prefix: "daybook_bench_" });
  const wrapper = serverWrapper(isPinned);
  const bench = openBench({ wrapper, dataDir, isQuick: options.quick === true });
  const startedAt = performance.now();
  try {
    await run(bench, options);
  } finally {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    console.log(`\n${machine.join("\n")}\n\n${formatTable(bench.rows)}\n\n${seconds} s in all`);
    await Deno.remove(dataDir, { recursive: true });
  }
  if (options.json !== undefined) {
    const rows = bench.rows.map((row) => ({ ...row, met: isMet(row) }));
    await Deno.writeTextFile(options.json, JSON.stringify({ machine, rows }, undefined, 2));
  }
}
