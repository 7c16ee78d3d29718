/**
 * The program that is cut off: opens a store and commits a story's transactions, some at a
 * time. It prints `ack <number>` for each acknowledged transaction. At the start it prints the
 * same for the newest transaction it finds, which thereby counts as acknowledged. It retries a
 * failed transaction until it succeeds, the store is broken, or the tries are used up. The
 * engine's sizes are small, so that its two logs switch, move and restart many times a second.
 *
 *     deno run -A store_program.ts <store> <seed> <first> <count> <at once> <end>
 *
 * `first`: 0 for the one after the newest that it finds. `end`: `close` closes the store, `kill`
 * ends without closing, `forget` empties the logs before it closes. Exit code: 0, or 1 if the store
 * broke.
 */

import type { Engine } from "../../src/kv/engine.ts";
import { openSqliteEngine } from "../../src/kv/sqlite/engine.ts";
import type { SqliteSizes } from "../../src/kv/sqlite/sizes.ts";
import { LAST, stepsOf } from "./story.ts";

export const SMALL_SIZES: SqliteSizes = {
  pagesWanted: 12,
  windowBytesAtFirst: 6_000,
  windowBytesMin: 4_000,
  windowBytesMax: 24_000,
  recordBytesMax: 8_000,
  startFrames: 60,
  finishFrames: 12,
  slowFrames: 150,
  logFramesMax: 200,
  passMsMax: 60,
};

const encoder = new TextEncoder();
/** How often a failing transaction is tried, and the pause between tries. */
const TRIES = 40;
const PAUSE_MS = 5;

/** Writes transaction `number` of the story. */
export async function tell(engine: Engine, seed: number, number: number): Promise<void> {
  await engine.transact((tx) => {
    for (const step of stepsOf(seed, number)) {
      if (step.kind === "set") tx.set(encoder.encode(step.key), encoder.encode(step.value));
      else if (step.kind === "clear") tx.clear(encoder.encode(step.key));
      else {
        tx.clearRange({ begin: encoder.encode(step.from), end: encoder.encode(step.to) });
      }
    }
    return Promise.resolve();
  });
}

/**
 * Retries a failed transaction. With several under way its retry would land behind later ones,
 * so plans whose transactions may fail and recover run one at a time.
 */
async function tellUntilHeard(engine: Engine, seed: number, number: number): Promise<void> {
  for (let tries = 1;; tries++) {
    try {
      return await tell(engine, seed, number);
    } catch (error) {
      if (engine.failure() !== undefined || tries >= TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

async function run(
  [path, seed, first, count, atOnce, end]: [string, number, number, number, number, string],
): Promise<number> {
  const engine = openSqliteEngine({ path, sizes: SMALL_SIZES });
  const found = await engine.snapshot((tx) => tx.get(encoder.encode(LAST))).catch(() => undefined);
  if (found !== undefined) {
    Deno.stdout.writeSync(encoder.encode(`ack ${new TextDecoder().decode(found)}\n`));
  }
  const underWay = new Set<Promise<void>>();
  const begin = first || Number(new TextDecoder().decode(found)) + 1;
  for (let number = begin; number < begin + count; number++) {
    const told: Promise<void> = tellUntilHeard(engine, seed, number)
      .then(() => void Deno.stdout.writeSync(encoder.encode(`ack ${number}\n`)))
      .finally(() => underWay.delete(told));
    underWay.add(told);
    try {
      if (underWay.size >= atOnce) await Promise.race(underWay);
    } catch {
      break;
    }
  }
  await Promise.allSettled(underWay);
  if (end === "kill") return 0;
  if (end === "forget") await engine.forget().catch(() => {});
  await engine.close();
  if (engine.failure() !== undefined) return 1;
  Deno.stdout.writeSync(encoder.encode("closed\n"));
  return 0;
}

if (import.meta.main) {
  const [path, seed, first, count, atOnce, end] = Deno.args;
  Deno.exit(
    await run([path!, Number(seed), Number(first), Number(count), Number(atOnce), end!]),
  );
}
