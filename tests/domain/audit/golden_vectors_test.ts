/** The golden audit vectors are exactly what the independent oracle makes. */

import assert from "node:assert/strict";
import { AUDIT_ORACLE, missingForOracle } from "../../support/audit_oracle.ts";

const GOLDEN = new URL("../../golden/audit/", import.meta.url);
const MADE = ["anchors.json", "bundles.json", "merkle.json", "pages.json"];

Deno.test("the oracle makes the golden vectors that are here", async () => {
  const missing = await missingForOracle();
  if (missing !== undefined) return console.log(`left out: ${missing}`);
  const folder = await Deno.makeTempDir({ prefix: "daybook_golden_" });
  try {
    const made = await new Deno.Command("python3", { args: [AUDIT_ORACLE, "golden", folder] })
      .output();
    assert.ok(made.success, new TextDecoder().decode(made.stderr));
    for (const name of MADE) {
      const [fresh, kept] = await Promise.all([
        Deno.readTextFile(`${folder}/${name}`),
        Deno.readTextFile(new URL(name, GOLDEN)),
      ]);
      assert.deepEqual(JSON.parse(kept), JSON.parse(fresh), name);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
