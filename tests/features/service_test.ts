/** The service as a whole: what it promises whatever its engine does. */

import assert from "node:assert/strict";
import { createAccess } from "../../src/features/access/access_service.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { createService } from "../../src/features/service.ts";
import { fakeHost } from "../support/fake_host.ts";

Deno.test("ping() fails in time on an engine that never answers", async () => {
  const never = () => new Promise<never>(() => {});
  const silent: Engine = {
    capabilities: { isShared: true },
    transact: never,
    snapshot: never,
    durableVersion: () => undefined,
    watch: () => ({ changed: Promise.resolve(false), cancel() {} }),
    // deno-lint-ignore require-yield
    async *backup() {
      return await never();
    },
    measure: never,
    forget: never,
    failure: () => undefined,
    untilBroken: never,
    close: () => Promise.resolve(),
  };
  const host = fakeHost();
  const access = createAccess(silent, host, { jwtSecret: new Uint8Array(32) });
  const service = createService(silent, host, access);
  const began = performance.now();
  await assert.rejects(service.ping(), { name: "EngineUnavailable" });
  assert.ok(performance.now() - began < 5_000, "readiness answers within five seconds");
});
