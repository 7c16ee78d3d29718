/**
 * One life of a store, as a process that may be killed: random writes and reads. Readers hold
 * old versions, and `forget()` is called in between. The sizes are so small that SQLite's WAL
 * is moved and restarted many times a second. Prints `ready` when it has begun.
 *
 *     deno run -A page_life.ts <store> <seed> <commits> <end>
 *
 * `end`: `exit` ends the process with the store open; `drain` lets it end by itself, where the
 * runtime closes the connections; `throw` ends it with an error; `run` goes on forever.
 */

import type { Engine } from "../../../../src/kv/engine.ts";
import { openSqliteEngine } from "../../../../src/kv/sqlite/engine.ts";
import { createRandom, type Random } from "../../../crash/random.ts";
import { SMALL_SIZES } from "../../../power_cut/store_program.ts";

const KEYS = 300;
/** Long enough for the index to have more than one level. */
const KEY_BYTES = 40;
const encoder = new TextEncoder();

/** Most values are small; some fill pages of their own. */
function valueOf(random: Random): Uint8Array<ArrayBuffer> {
  const length = random.chance(0.05) ? random.below(30_000) : random.below(600);
  return new Uint8Array(length).fill(random.below(256));
}

function keyOf(random: Random): Uint8Array<ArrayBuffer> {
  return encoder.encode(`k${String(random.below(KEYS)).padStart(3, "0")}`.padEnd(KEY_BYTES, "."));
}

async function writeSome(engine: Engine, random: Random): Promise<void> {
  await engine.transact((tx) => {
    for (let left = 1 + random.below(5); left > 0; left--) {
      if (random.chance(0.2)) tx.clear(keyOf(random));
      else tx.set(keyOf(random), valueOf(random));
    }
    if (random.chance(0.01)) {
      const begin = keyOf(random);
      tx.clearRange({ begin, end: Uint8Array.from([...begin, 0xff]) });
    }
    return Promise.resolve();
  });
}

/** Reads at one version for a while. */
async function readSlowly(engine: Engine, random: Random): Promise<void> {
  const pauseMs = random.below(30);
  await engine.snapshot(async (tx) => {
    await tx.get(keyOf(random));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    await tx.get(keyOf(random));
  }).catch(() => {});
}

export async function live(engine: Engine, random: Random, commits: number): Promise<void> {
  const reading = new Set<Promise<void>>();
  for (let done = 0; done < commits;) {
    const atOnce = 1 + random.below(6);
    await Promise.all(Array.from({ length: atOnce }, () => writeSome(engine, random)));
    done += atOnce;
    if (random.chance(0.1) && reading.size < 4) {
      const one: Promise<void> = readSlowly(engine, random).finally(() => reading.delete(one));
      reading.add(one);
    }
    if (random.chance(0.01)) await engine.forget().catch(() => {});
  }
  await Promise.all(reading);
}

/** How a life may end without a close; `kill` is `kill -9`. */
export const KILL_ENDS = ["kill", "kill", "kill", "kill", "exit", "drain", "throw"] as const;
const COMMITS_MAX = 1_200;

export interface LifePlan {
  readonly seed: number;
  readonly end: typeof KILL_ENDS[number];
  /** How long after its first commit the process is killed. */
  readonly killMs: number;
}

/** Resolves when a process with this life has ended. */
export async function startLife(path: string, { seed, end, killMs }: LifePlan): Promise<void> {
  const commits = createRandom(seed).fork(1).below(COMMITS_MAX);
  const ending = end === "kill" ? "run" : end;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--no-lock", import.meta.filename!, path]
      .concat([String(seed), String(commits), ending]),
    env: { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const output = child.stdout.getReader();
  const { value } = await output.read();
  if (value === undefined) throw new Error("the process ended before its first commit");
  if (end === "kill") {
    await new Promise((resolve) => setTimeout(resolve, killMs));
    child.kill("SIGKILL");
  }
  await output.cancel();
  await child.status;
}

if (import.meta.main) {
  const [path, seed, commits, end] = Deno.args;
  const engine = openSqliteEngine({ path: path!, sizes: SMALL_SIZES });
  const random = createRandom(Number(seed));
  await writeSome(engine, random);
  console.log("ready");
  await live(engine, random, end === "run" ? Infinity : Number(commits));
  if (end === "throw") throw new Error("as a bug of the program");
  if (end !== "drain") Deno.exit(0);
}
