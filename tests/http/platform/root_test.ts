/** `GET /`: each address that it names exists. */

import assert from "node:assert/strict";
import { withWorld } from "../../end_to_end/world.ts";

Deno.test("GET / names addresses that answer without a key, and the environment of its port", () =>
  withWorld(async ({ send }) => {
    for (const environment of ["test", "staging", "production"] as const) {
      const { status, body } = await send("GET", "/", { token: null, environment });
      assert.equal(status, 200);
      assert.equal(body.environment, environment);
      for (const path of [body.openapi, body.health]) {
        assert.equal((await send("GET", path, { token: null, environment })).status, 200, path);
      }
    }
  }));
