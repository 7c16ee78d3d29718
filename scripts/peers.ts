/**
 * `deno task bench:peers`: ours and its peers on the same work, each durable, each on one core with
 * all that works for it, the load generator on the other. Installs the peers into a folder outside
 * the repository, prints one table and writes the raw figures. `--full` takes hours and asks for a
 * machine that does nothing else; without it the sizes are small, which shows that it works.
 *
 *   --only daybook,redis     peers whose name holds one of these
 *   --works append,growth    lines of the work list
 *   --cache DIR              where peers are installed  (~/.cache/daybook-peers)
 *   --data DIR               where they keep their data (a temporary folder)
 *   --json FILE              where the raw figures go   (peers.json)
 */

import { parseArgs } from "node:util";
import { describeMachine, measureSync, pinLoadGenerator, serverWrapper } from "./bench/machine.ts";
import { percentiles } from "./bench/load.ts";
import { type Peer, PEERS, type RunningPeer } from "./peers/catalog.ts";
import { countSyncs } from "./peers/count_syncs.ts";
import { type Installed, installPeers } from "./peers/install.ts";
import { formatPeers, type PeerResult } from "./peers/report.ts";
import { measureStores } from "./peers/store_rates.ts";
import { FULL, type Measured, type Sizes, type Skipped, SMALL, WORKS } from "./peers/works.ts";

interface Bench {
  readonly installed: Installed;
  /** Each peer has folders of its own in it. */
  readonly folder: string;
  readonly wrapper: readonly string[];
  readonly sizes: Sizes;
  readonly works: readonly string[];
}

interface Collected {
  readonly measured: Measured[];
  readonly skipped: Skipped[];
}

const SYNC_PROBES = 300;

async function measurePeer(peer: Peer, bench: Bench): Promise<PeerResult> {
  const { name, version, remark } = peer;
  const collected: Collected = { measured: [], skipped: [] };
  console.error(`${name}:`);
  for (const work of WORKS.filter(({ name: each }) => isAsked(bench.works, each))) {
    // A store of its own for each, so that the order of the list changes nothing.
    await attempt(collected, `${name}, ${work.name}`, work.name, async (folder) => {
      const running = await peer.start({ ...bench, folder });
      try {
        return await work.run(running, bench.sizes);
      } finally {
        await stopQuietly(running);
      }
    }, bench);
  }
  if (isAsked(bench.works, "store level")) {
    await attempt(
      collected,
      `${name}, store level`,
      "store level",
      (folder) => measureStores(peer, { ...bench, folder }, bench.sizes),
      bench,
    );
  }
  if (isAsked(bench.works, "syncs")) {
    await attempt(
      collected,
      `${name}, syncs`,
      "syncs",
      async (folder) =>
        await countSyncs(peer, { ...bench, folder }) ??
          [{ work: "syncs", reason: "strace is not here, or not allowed" }],
      bench,
    );
  }
  return { name, version, remark, ...collected };
}

function isAsked(asked: readonly string[], name: string): boolean {
  return asked.length === 0 || asked.some((each) => name.startsWith(each));
}

/** Adds what `work` measures; a peer that fails is left out of the line, with what it said. */
async function attempt(
  { measured, skipped }: Collected,
  label: string,
  name: string,
  work: (folder: string) => Promise<readonly (Measured | Skipped)[]>,
  { folder }: Bench,
): Promise<void> {
  const own = `${folder}/${label.replaceAll(/[^a-z]+/g, "_")}`;
  try {
    for (const outcome of await work(own)) {
      if ("reason" in outcome) skipped.push(outcome);
      else measured.push(outcome);
      const said = "reason" in outcome
        ? outcome.reason
        : `${outcome.value.toFixed(2)} ${outcome.unit}`;
      console.error(`  ${outcome.work}: ${said}`);
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    skipped.push({ work: name, reason: reason.slice(0, 300) });
    console.error(`  ${name}: FAILED ${reason}`);
  }
  await removeAll(folder);
}

async function stopQuietly(running: RunningPeer): Promise<void> {
  await running.stop().catch((error: unknown) => console.error(`  could not be stopped: ${error}`));
}

/** What is in the folder; the folder stays. */
async function removeAll(folder: string): Promise<void> {
  for await (const { name } of Deno.readDir(folder)) {
    await Deno.remove(`${folder}/${name}`, { recursive: true });
  }
}

function listOf(text: string | undefined): string[] {
  return (text ?? "").split(",").map((each) => each.trim()).filter(Boolean);
}

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      full: { type: "boolean", default: false },
      only: text,
      works: text,
      cache: { ...text, default: `${Deno.env.get("HOME") ?? "/tmp"}/.cache/daybook-peers` },
      data: text,
      json: { ...text, default: "peers.json" },
    },
  });
  const only = listOf(values.only);
  const peers = PEERS.filter(({ name }) =>
    only.length === 0 || only.some((part) => name.includes(part))
  );
  const installed = await installPeers(
    values.cache,
    (name) => peers.some((each) => each.name === name),
  );
  for (const problem of installed.problems) console.error(`not installed: ${problem}`);
  const isPinned = await pinLoadGenerator();
  const machine = await describeMachine(isPinned);
  const folder = await Deno.makeTempDir({ prefix: "daybook_peers_", dir: values.data });
  // PostgreSQL runs as somebody else.
  await Deno.chmod(folder, 0o755);
  const sizes = values.full ? FULL : SMALL;
  const wrapper = serverWrapper(isPinned);
  const bench: Bench = { installed, folder, wrapper, sizes, works: listOf(values.works) };
  try {
    const sync = percentiles(measureSync(folder, SYNC_PROBES));
    const results: PeerResult[] = [];
    for (const peer of peers) results.push(await measurePeer(peer, bench));
    const title = `${values.full ? "FULL" : "SMALL"} sizes; fdatasync of 4 KiB: p50 ${
      sync.p50.toFixed(3)
    } ms`;
    console.log([...machine, title, "", formatPeers(results)].join("\n"));
    const raw = { machine, sync, sizes, results };
    await Deno.writeTextFile(values.json, JSON.stringify(raw, null, 2) + "\n");
    console.error(`raw figures: ${values.json}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

await main();
Deno.exit(0);
