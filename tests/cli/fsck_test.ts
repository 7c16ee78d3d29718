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
