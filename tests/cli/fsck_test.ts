/** `fsck` as people use it: exit codes and what is printed. */

import assert from "node:assert/strict";

const ROOT = new URL("../../", import.meta.url);

async function fsck(dataDir: string) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "main.ts", "fsck", "--all"],
    cwd: ROOT,
    env: { NO_COLOR: "1", DAYBOOK_DATA_DIR: dataDir },
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

Deno.test("fsck names a page that is not what was last written there", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "daybook_fsck_" });
  const path = `${dataDir}/daybook.sqlite`;
  try {
    assert.equal((await fsck(dataDir)).code, 0);
    // The page with the row of facts, as if the disk had never written it.
    const file = await Deno.readFile(path);
    file.fill(0, 4096, 8192);
    await Deno.writeFile(path, file);
    const { code, stderr } = await fsck(dataDir);
    assert.equal(code, 1);
    assert.match(stderr, /^file: page 2 is not what was last written there: the disk has lost a/m);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("fsck of a store without sums says of how many pages nothing is known, and finds no fault", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "daybook_fsck_" });
  try {
    assert.equal((await fsck(dataDir)).code, 0);
    const pages = (await Deno.stat(`${dataDir}/daybook.sqlite`)).size / 4096;
    await Deno.remove(`${dataDir}/daybook.sqlite-pages`);
    const { code, stdout } = await fsck(dataDir);
    assert.equal(code, 0);
    assert.ok(stdout.startsWith(`${pages} of ${pages} pages of the file have no sum yet`), stdout);
    assert.match(stdout, /^No fault in /m);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("fsck of a store without an instance walks nothing and finds no fault", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "daybook_fsck_" });
  try {
    const { code, stdout } = await fsck(dataDir);
    assert.deepEqual([code, stdout], [
      0,
      "No fault in 0 environments, 0 streams, 0 events, 0 anchors\n",
    ]);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});
