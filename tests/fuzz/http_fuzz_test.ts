/**
 * The HTTP edge under hostile input, with a new seed in every run. `FUZZ_SEED` repeats a run,
 * `FUZZ_CASES` sends more. The variables lack the server's own prefix because the server
 * refuses settings that it does not know.
 */

import assert from "node:assert/strict";
import { runFuzz } from "./http_fuzz.ts";
import { fuzzRun } from "./seeds.ts";

Deno.test("hostile requests are never answered with a 5xx, never hang and never land by halves", async () => {
  const { seed, cases } = fuzzRun(2_000);
  const { faults, statuses, events, slowestMs } = await runFuzz({ seed, cases });
  const tally = [...statuses].sort().map(([status, count]) => `${count} x ${status}`).join(", ");
  console.log(`${cases} cases: ${tally}; ${events} events; slowest ${slowestMs.toFixed(0)} ms`);
  assert.deepEqual(faults, [], `seed ${seed}`);
  assert.ok((statuses.get("201") ?? 0) > cases / 50, "hardly any case reached the store");
  assert.ok((statuses.get("422") ?? 0) > cases / 50, "hardly any case reached the checks");
});
