/** Names of files and folders reach the disk: which folders are synced, and their modes. */

import assert from "node:assert/strict";
import { join, relative } from "node:path";
import { makeFolder, syncFolder } from "../../../src/kv/sqlite/synced_folder.ts";

async function withFolder(body: (folder: string) => void): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_folders_" });
  try {
    body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The folders under `top` that `body` has synced. */
function syncedBy(top: string, body: () => void): string[] {
  const inodes: (number | null)[] = [];
  const { syncSync } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.syncSync = function () {
    inodes.push(this.statSync().ino);
    syncSync.call(this);
  };
  try {
    body();
  } finally {
    Deno.FsFile.prototype.syncSync = syncSync;
  }
  const paths = [top];
  for (const path of paths) {
    for (const entry of Deno.readDirSync(path)) {
      if (entry.isDirectory) paths.push(join(path, entry.name));
    }
  }
  return inodes.map((ino) =>
    relative(top, paths.find((path) => Deno.statSync(path).ino === ino) ?? "?")
  );
}

Deno.test("syncFolder() syncs the folder that it is given", async () => {
  await withFolder((top) => {
    Deno.mkdirSync(join(top, "a"));
    assert.deepEqual(syncedBy(top, () => syncFolder(join(top, "a"))), ["a"]);
  });
});

Deno.test("makeFolder() makes a folder with those above it, each its owner's alone, and syncs the name of each", async () => {
  await withFolder((top) => {
    const synced = syncedBy(top, () => makeFolder(join(top, "a", "b", "c")));
    assert.deepEqual(synced, ["", "a", join("a", "b")]);
    for (const path of ["a", "a/b", "a/b/c"]) {
      assert.equal(Deno.statSync(join(top, path)).mode! & 0o777, 0o700, path);
    }
  });
});

Deno.test("makeFolder() leaves a folder that is there as it is", async () => {
  await withFolder((top) => {
    Deno.mkdirSync(join(top, "a"), { mode: 0o755 });
    assert.deepEqual(syncedBy(top, () => makeFolder(join(top, "a"))), []);
    assert.equal(Deno.statSync(join(top, "a")).mode! & 0o777, 0o755);
  });
});
