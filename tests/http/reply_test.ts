/** Golden cases of `src/http/reply.ts`: requests and their exact answers. */

import assert from "node:assert/strict";
import { sendRefusal } from "../../src/http/reply.ts";
import { testGoldenCases } from "./golden_cases.ts";

testGoldenCases("refusals");

Deno.test("a refusal repeats no more of a name of a megabyte than its beginning", async () => {
  const name = "n".repeat(1_000_000);
  const refusal = { kind: "bad_request", message: `Unknown field: ${name}`, path: name } as const;
  const { error, path } = await sendRefusal("r", refusal).json();
  assert.equal(error, `Unknown field: ${"n".repeat(4_000 - 15 - 3)}...`);
  assert.equal(path, `${"n".repeat(997)}...`);
  const short = {
    kind: "bad_request",
    message: "m".repeat(4_000),
    path: "p".repeat(1_000),
  } as const;
  const whole = await sendRefusal("r", short).json();
  assert.deepEqual([whole.error, whole.path], [short.message, short.path]);
});
