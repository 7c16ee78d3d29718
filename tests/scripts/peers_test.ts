/** What `deno task bench:peers` computes and prints; that the peers run is seen by running it. */

import assert from "node:assert/strict";
import { formatPeers, type PeerResult } from "../../scripts/peers/report.ts";
import { openZipf } from "../../scripts/peers/zipf.ts";

const DRAWS = 200_000;

Deno.test("openZipf() draws each of few streams as often as the law says, within a tenth", () => {
  const [count, skew] = [5, 0.99];
  let state = 1;
  const random = () => (state = state * 48_271 % 2_147_483_647) / 2_147_483_647;
  const draw = openZipf(count, skew, random);
  const drawn = new Array<number>(count).fill(0);
  for (let number = 0; number < DRAWS; number++) drawn[draw()]!++;
  assert.equal(drawn.reduce((sum, each) => sum + each), DRAWS);
  const weights = drawn.map((_, index) => (index + 1) ** -skew);
  const sum = weights.reduce((all, each) => all + each);
  // The first two are exact; the method only comes near the others.
  for (const index of [0, 1]) {
    const expected = DRAWS * weights[index]! / sum;
    assert.ok(Math.abs(drawn[index]! - expected) < expected / 50, `${index}: ${drawn[index]}`);
  }
  assert.deepEqual(drawn, drawn.toSorted((a, b) => b - a));
});

Deno.test("openZipf() stays within its streams at both ends of what is drawn", () => {
  for (const drawn of [0, 1e-12, 0.5, 1 - 2 ** -53]) {
    const stream = openZipf(1_000, 0.99, () => drawn)();
    assert.ok(Number.isInteger(stream) && stream >= 0 && stream < 1_000, `${drawn}: ${stream}`);
  }
});

function resultOf(name: string, rate: number, bytes?: number): PeerResult {
  const measured = [{ work: "append", value: rate, unit: "req/s" }];
  if (bytes !== undefined) measured.push({ work: "disk", value: bytes, unit: "bytes" });
  const skipped = bytes === undefined ? [{ work: "disk", reason: "keeps nothing" }] : [];
  return { name, version: "1", remark: "of the test", measured, skipped };
}

Deno.test("formatPeers() has a line for each work, the ratio to the best peer, and every reason", () => {
  const table = formatPeers([
    resultOf("slow", 50, 1_000),
    resultOf("daybook", 300, 250),
    resultOf("fast", 150),
  ]);
  assert.deepEqual(table.split("\n"), [
    "| work | unit | slow | daybook | fast | ours to their best |",
    "| --- | --- | --- | --- | --- | --- |",
    "| append | req/s | 50.0 | 300.0 | 150.0 | 2.00x |",
    "| disk | bytes | 1,000 | 250.0 |  | 4.00x |",
    "",
    "- **slow** (1): of the test",
    "- **daybook** (1): of the test",
    "- **fast** (1): of the test",
    "  - disk: keeps nothing",
  ]);
});
