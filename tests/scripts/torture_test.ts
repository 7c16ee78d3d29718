/** Torture runs: the table, the commands that repeat a run, and one real run of a second. */

import assert from "node:assert/strict";
import { commandFor, describeRuns } from "../../scripts/torture/summary.ts";
import { type Way, WAYS } from "../../scripts/torture/ways.ts";

const way: Way = {
  name: "worlds",
  unit: "worlds",
  path: "tests/worlds",
  cases: 1_500,
  env: (seed, cases) => ({ SEED: `${seed}`, CASES: `${cases}` }),
};

Deno.test("a run is repeated by a command with its seed and its size", () => {
  const command = "SEED=7 CASES=1500 deno test -A tests/worlds";
  assert.equal(commandFor({ way, seed: 7 }), command);
});

Deno.test("the table counts runs, cases, seconds and failures of each way and of all", () => {
  const other = { ...way, name: "others", cases: 2 };
  const runs = [
    { way, seed: 1, seconds: 10.4, isGood: true },
    { way, seed: 2, seconds: 10.4, isGood: false },
    { way: other, seed: 3, seconds: 1, isGood: true },
  ];
  assert.equal(
    describeRuns(runs),
    [
      "way     runs  cases          seconds  failed",
      "worlds     2  3,000  worlds       21       1",
      "others     1      2  worlds        1       0",
      "all        3                      22       1",
    ].join("\n"),
  );
});

Deno.test("each way names a suite that is there, and settings that the suite reads", async () => {
  for (const { name, path, env } of WAYS) {
    const info = await Deno.stat(path);
    const file = info.isFile ? path : `${path}/${path.split("/").at(-1)}_test.ts`;
    const seeds = await Deno.readTextFile("tests/fuzz/seeds.ts");
    const text = await Deno.readTextFile(file) + (path.startsWith("tests/fuzz/") ? seeds : "");
    for (const setting of Object.keys(env(1, 1))) {
      assert.ok(text.includes(`"${setting}"`), `${name}: ${file} does not read ${setting}`);
    }
  }
});

Deno.test("torture runs what it is told to, and refuses what it does not know", async () => {
  const torture = (...args: string[]) =>
    new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-all", "--no-check", "scripts/torture.ts", ...args],
      env: { NO_COLOR: "1" },
      stderr: "piped",
    }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  const small = ["--minutes", "0.0001", "--scale", "0.005", "--seed", "5"];
  const ran = await torture(...small, "--only", "changed bundles");
  assert.equal(ran.code, 0, text(ran.stdout));
  assert.match(text(ran.stdout), /AUDIT_SEED=\d+ AUDIT_MUTATIONS=1000 deno test -A/);
  assert.match(text(ran.stdout), /changed bundles +1 +1,000 +bundles/);
  const unknown = await torture("--only", "changed bundles,nothing");
  assert.equal(unknown.code, 2);
  assert.match(text(unknown.stderr), /no way 'nothing'/);
  assert.equal((await torture("--minutes", "none")).code, 2);
});
