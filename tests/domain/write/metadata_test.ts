/** Metadata that clients may write, and every check on it. See docs/reference/writing.md. */

import assert from "node:assert/strict";
import { checkMetadata } from "../../../src/domain/write/metadata.ts";
import type { CompiledSpec } from "../../../src/domain/spec/compiled.ts";
import type { Environment } from "../../../src/domain/tenant.ts";
import { EMPTY_SPEC } from "../../../src/features/base/current_spec.ts";
import cases from "../../golden/metadata/metadata.json" with { type: "json" };

const spec: CompiledSpec = {
  ...EMPTY_SPEC,
  agentTypes: new Set(["user", "admin"]),
  targetTypes: new Set(["customer"]),
  singletons: new Set(["main"]),
};

for (const { name, metadata, environment, accept, refuse } of cases) {
  Deno.test(`checkMetadata(): ${name}`, () => {
    const checked = checkMetadata(metadata, spec, (environment ?? "test") as Environment);
    if (accept !== undefined) {
      assert.ok(checked.ok, `refused: ${JSON.stringify(checked)}`);
      assert.deepEqual(JSON.parse(JSON.stringify(checked.value)), accept);
    } else {
      assert.ok(!checked.ok, "accepted");
      assert.deepEqual(JSON.parse(JSON.stringify(checked.refusal)), refuse);
    }
  });
}

Deno.test("checkMetadata() refuses metadata that is absent with 400", () => {
  const checked = checkMetadata(undefined, spec, "test");
  assert.deepEqual(checked, {
    ok: false,
    refusal: { kind: "bad_request", message: "metadata is required", path: "metadata" },
  });
});
