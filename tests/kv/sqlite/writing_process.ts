/** Writes numbered keys forever and prints each acknowledged number; a test kills it. */

import { openSqliteEngine } from "../../../src/kv/sqlite/engine.ts";

const engine = openSqliteEngine({ path: Deno.args[0]! });
const out = Deno.stdout.writable.getWriter();
const encoder = new TextEncoder();

async function writeEvery(first: number, step: number): Promise<void> {
  for (let number = first; number < 1_000_000; number += step) {
    await engine.transact((tx) => {
      tx.set(encoder.encode(`k${number}`), new Uint8Array(300));
      tx.setStamped(encoder.encode("log"), encoder.encode(""), encoder.encode(String(number)));
      return Promise.resolve();
    });
    await out.write(encoder.encode(`${number}\n`));
  }
}

await Promise.all(Array.from({ length: 8 }, (_, i) => writeEvery(i, 8)));
