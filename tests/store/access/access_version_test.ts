/** The counter that makes nodes drop their caches. */

import { equal } from "node:assert/strict";
import { bumpAccessVersion } from "../../../src/store/access/access_version.ts";
import { keys } from "../../../src/store/keys.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

Deno.test("bumpAccessVersion() counts every change of many made at once", async () => {
  await withTemporaryEngine(async (engine) => {
    await Promise.all(
      Array.from(
        { length: 25 },
        () => engine.transact((tx) => Promise.resolve(bumpAccessVersion(tx))),
      ),
    );
    const value = await engine.snapshot((tx) => tx.get(keys.accessVersion()));
    equal(value?.toHex(), "1900000000000000");
  });
});
