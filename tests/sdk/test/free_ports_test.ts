/** Free ports: three in a row, none of which somebody listens on. */

import assert from "node:assert/strict";
import { threeFreePorts } from "../../../sdk/src/test/free_ports.ts";

Deno.test("threeFreePorts() gives three ports that can be listened on, as often as it is asked", async () => {
  for (let round = 0; round < 20; round++) {
    const first = await threeFreePorts();
    for (const port of [first, first + 1, first + 2]) {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
    }
  }
});

Deno.test("threeFreePorts() passes over ports of which one is taken", async () => {
  const first = await threeFreePorts();
  const at = (first - 24_000) / 12_000;
  for (const taken of [first, first + 1, first + 2]) {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: taken });
    const answers = [at, at, 0.999];
    assert.notEqual(await threeFreePorts(() => answers.shift() ?? Math.random()), first);
    listener.close();
  }
  await assert.rejects(threeFreePorts(always(await holdAll())), /no three free ports/);
  held?.close();
});

let held: Deno.Listener | undefined;

/** Takes a port and returns the chance that leads to it. */
async function holdAll(): Promise<number> {
  const first = await threeFreePorts();
  held = Deno.listen({ hostname: "127.0.0.1", port: first });
  return (first - 24_000) / 12_000;
}

function always(chance: number): () => number {
  return () => chance;
}
