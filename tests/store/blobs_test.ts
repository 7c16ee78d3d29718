/** Blobs in the store: by name and version, whole however large, and listed in order. */

import assert from "node:assert/strict";
import type { BlobVersion } from "../../src/domain/wasm/blob.ts";
import { limits } from "../../src/domain/limits.ts";
import {
  findBlobByHash,
  findBlobs,
  findBlobsInPieces,
  listBlobs,
  readBlobFile,
  readModule,
  readNewestBlob,
  storeBlob,
} from "../../src/store/blobs.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";

const TENANT = 7;

function blob(name: string, version: number): BlobVersion {
  const sha256 = `${name}${version}`.padEnd(64, "0");
  const created_at = "2026-01-01T00:00:00.000Z";
  return { name, version, sha256, exports: ["apply_handler"], bytes: 3, created_at };
}

function bytes(length: number, seed: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, index) => (index * 31 + seed) % 256);
}

Deno.test("a reference finds the newest version, a pin its own, and neither another name or tenant", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => {
      // Ten must sort behind nine, and `a-b` and `ab` are not versions of `a`.
      for (let version = 1; version <= 11; version++) {
        storeBlob(tx, TENANT, {
          blob: blob("a", version),
          file: bytes(3, version),
          module: bytes(3, version),
        });
      }
      for (const name of ["a-b", "ab"]) {
        storeBlob(tx, TENANT, { blob: blob(name, 1), file: bytes(1, 1), module: bytes(1, 1) });
      }
      return Promise.resolve();
    });
    const references = [{ name: "a" }, { name: "a", version: 9 }, { name: "a", version: 12 }, {
      name: "b",
    }];
    const found = await engine.snapshot((tx) => findBlobs(tx, TENANT, references));
    assert.deepEqual(Object.fromEntries(found), {
      "a": { blob: blob("a", 11), latest: 11 },
      "a:v9": { blob: blob("a", 9), latest: 11 },
      "a:v12": { blob: undefined, latest: 11 },
      "b": { blob: undefined, latest: 0 },
    });
    const elsewhere = await engine.snapshot((tx) => readNewestBlob(tx, TENANT + 1, "a"));
    assert.equal(elsewhere, undefined);
    const { sha256 } = blob("a", 4);
    const byHash = await engine.snapshot((tx) => findBlobByHash(tx, TENANT, "a", sha256));
    assert.deepEqual(byHash, blob("a", 4));
    assert.equal(
      await engine.snapshot((tx) => findBlobByHash(tx, TENANT, "ab", sha256)),
      undefined,
    );
    const listed = await engine.snapshot((tx) =>
      listBlobs(tx, TENANT, { limit: 3, after: { name: "a", version: 9 } })
    );
    assert.deepEqual(listed, [blob("a", 10), blob("a", 11), blob("a-b", 1)]);
    assert.equal((await engine.snapshot((tx) => listBlobs(tx, TENANT))).length, 13);
  });
});

Deno.test("a file and a module of the largest size are stored in one transaction and read whole", async () => {
  await withTemporaryEngine(async (engine) => {
    const size = limits.wasmModuleBytesMax;
    // The module compiled from a file may be slightly longer than the file.
    const [file, module] = [bytes(size, 1), bytes(size + 100, 2)];
    const large = blob("large", 1);
    await engine.transact((tx) =>
      Promise.resolve(storeBlob(tx, TENANT, { blob: large, file, module }))
    );
    assert.deepEqual(await engine.snapshot((tx) => readBlobFile(tx, TENANT, large)), file);
    assert.deepEqual(await engine.snapshot((tx) => readModule(tx, TENANT, large)), module);
  });
});

Deno.test("many references are looked up a few at a time, until enough of them stand for nothing", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => {
      for (let at = 0; at < 50; at++) {
        const file = { blob: blob(`b${at}`, 1), file: bytes(1, at), module: bytes(1, at) };
        storeBlob(tx, TENANT, file);
      }
      return Promise.resolve();
    });
    // Each is named twice; the first 50 are there.
    const references = Array.from({ length: 2_000 }, (_, at) => ({ name: `b${at % 1_000}` }));
    let rests = 0;
    const pieces = { rest: () => Promise.resolve(void rests++) };
    for (const [missingMax, most] of [[100, 50 + 100 + 32], [Infinity, 1_000]] as const) {
      const bounds = { pieces, missingMax };
      const found = await engine.snapshot((tx) =>
        findBlobsInPieces(tx, TENANT, references, bounds)
      );
      const missing = [...found.values()].filter((each) => each.blob === undefined);
      assert.ok(missing.length >= Math.min(missingMax, 950) && found.size <= most, `${found.size}`);
      assert.equal(found.get("b49")?.blob?.name, "b49");
    }
    assert.ok(rests >= 32, `${rests} rests`);
  });
});
