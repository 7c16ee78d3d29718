/** The mark of an import under way, and what it has imported. */

import assert from "node:assert/strict";
import { keys } from "../../../src/store/keys.ts";
import {
  clearImported,
  clearImportMark,
  readImportMark,
  setImportMark,
} from "../../../src/store/imports/import_marks.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const place = { slug: "shop", environment: "test" } as const;

Deno.test("readImportMark() gives the number until the mark is cleared, for its place alone", async () => {
  await withTemporaryEngine(async (engine) => {
    const read = (environment: "test" | "staging") =>
      engine.snapshot((tx) => readImportMark(tx, { ...place, environment }));
    assert.equal(await read("test"), undefined);
    await engine.transact((tx) => Promise.resolve(setImportMark(tx, place, 300)));
    assert.deepEqual([await read("test"), await read("staging")], [300, undefined]);
    await engine.transact((tx) => Promise.resolve(clearImportMark(tx, place)));
    assert.equal(await read("test"), undefined);
  });
});

Deno.test("clearImported() removes all of one tenant and nothing of its neighbours", async () => {
  await withTemporaryEngine(async (engine) => {
    const numbers = [1, 2, 255, 256, 257, 65_535, 65_536];
    for (const gone of numbers) {
      await engine.transact((tx) => {
        for (const number of numbers) tx.set(keys.currentSpec(number), new Uint8Array(1));
        return Promise.resolve(clearImported(tx, gone));
      });
      const left = await engine.snapshot((tx) =>
        Promise.all(numbers.map((number) => tx.get(keys.currentSpec(number))))
      );
      assert.deepEqual(numbers.filter((_, at) => left[at] === undefined), [gone]);
    }
  });
});
