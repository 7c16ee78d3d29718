/** Golden cases of `src/http/operators/specs.ts`: requests and their exact answers. */

import assert from "node:assert/strict";
import { createApp } from "../../../src/http/app.ts";
import { testGoldenCases } from "../golden_cases.ts";
import { quietHost, scriptService, TEST_LISTENER, TOKENS } from "../scripted_service.ts";

testGoldenCases("specs");

Deno.test("the length of a long spec is found in time slices", async () => {
  // The clock passes by a whole slice at each look.
  let [nowMs, turns] = [0, 0];
  const host = {
    ...quietHost(),
    monotonicMs: () => nowMs += 100,
    yieldTurn: () => Promise.resolve(void turns++),
  };
  const app = createApp(scriptService().service, host, TEST_LISTENER);
  const send = async (spec: unknown) => {
    turns = 0;
    const response = await app.fetch(
      new Request("http://127.0.0.1/api/instances/i1/spec", {
        method: "POST",
        headers: { authorization: `Bearer ${TOKENS.operator}`, "content-type": "application/json" },
        body: JSON.stringify({ spec }),
      }),
    );
    return [response.status, (await response.json()).path, turns];
  };
  const many = Array(200_000).fill({ 0: 0 });
  const [ofArray, ofObject] = [await send(many), await send({ many })];
  assert.deepEqual(ofArray.slice(0, 2), [400, "spec"]);
  assert.deepEqual(ofObject.slice(0, 2), [413, "spec"]);
  // Reading the body takes as many turns for both.
  assert.ok(Number(ofObject[2]) - Number(ofArray[2]) > 500, `${ofObject[2]}, ${ofArray[2]}`);
});
