/**
 * The example shop as its README has it: copied with `deno task example`, installed by npm from the
 * packages in the copy, type-checked, and tested on Node with the server that it brings.
 */

import assert from "node:assert/strict";
import { copyExample } from "../../scripts/copy_example.ts";

async function npm(folder: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("npm", {
    args,
    cwd: folder,
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert.ok(success, `npm ${args.join(" ")}: ${text}`);
  return text;
}

Deno.test("a copy of the shop installs, type-checks, and passes its own tests", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_shop_" });
  try {
    await copyExample(`${folder}/shop`);
    await npm(`${folder}/shop`, "install", "--no-audit", "--no-fund");
    await npm(`${folder}/shop`, "run", "check");
    const told = await npm(`${folder}/shop`, "test");
    assert.match(told, /^# pass 7$/m);
    assert.match(told, /^# fail 0$/m);
    assert.match(told, /^# skipped 0$/m);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the shop is copied into no folder that has something in it", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_shop_" });
  try {
    await Deno.writeTextFile(`${folder}/mine.txt`, "mine");
    await assert.rejects(copyExample(folder), /is not empty: name a new folder/);
    assert.deepEqual((await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name), [
      "mine.txt",
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
