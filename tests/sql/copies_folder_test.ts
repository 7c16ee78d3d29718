/** Temporary files and copies leave room on the disk for the store. */

import assert from "node:assert/strict";
import { limits } from "../../src/domain/limits.ts";
import { hasRoom, watchRoom } from "../../src/sql/copies_folder.ts";

/** More than any disk has free, and less than any. */
const [TOO_MUCH, NOTHING] = [2 ** 70, 0];

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_disk_" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The free bytes of the folder's disk according to the system's `df`. */
async function freeBytes(folder: string): Promise<number> {
  const args = ["--block-size=1", "--output=avail", folder];
  const { stdout } = await new Deno.Command("df", { args }).output();
  return Number(new TextDecoder().decode(stdout).trim().split("\n").at(-1));
}

Deno.test("hasRoom() compares what the disk of the folder has free with what must stay", async () => {
  await withFolder(async (folder) => {
    const free = await freeBytes(folder);
    assert.equal(await hasRoom(folder, free / 2), true);
    assert.equal(await hasRoom(folder, free * 2), false);
    assert.equal(await hasRoom(folder), free >= limits.sqlDiskFreeBytesMin);
  });
});

Deno.test("hasRoom() says no of a folder that is not there", async () => {
  await withFolder(async (folder) => {
    assert.equal(await hasRoom(`${folder}/missing`, NOTHING), false);
  });
});

Deno.test("watchRoom() tells of a shortage once, and of none after it was ended", async () => {
  await withFolder(async (folder) => {
    const told: string[] = [];
    const short = Promise.withResolvers<void>();
    const watches = [
      watchRoom(folder, () => {
        told.push("short");
        short.resolve();
      }, TOO_MUCH),
      watchRoom(folder, () => told.push("enough"), NOTHING),
    ];
    watchRoom(folder, () => told.push("ended"), TOO_MUCH)();
    await short.promise;
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.deepEqual(told, ["short"]);
    for (const end of watches) end();
  });
});
