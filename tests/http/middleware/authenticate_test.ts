/** Tokens on their way to the access service. The answers are golden cases. */

import assert from "node:assert/strict";
import {
  authenticateCaller,
  authenticateHolder,
} from "../../../src/http/middleware/authenticate.ts";
import type { AccessService } from "../../../src/features/access/access_service.ts";
import { scriptService, TOKENS } from "../scripted_service.ts";

const CALL = { place: { environment: "test", servesData: true }, query: "" } as const;

Deno.test("authenticateHolder() never asks the service for what cannot be an API key", async () => {
  const access = {} as AccessService;
  for (
    const header of [null, "", "Bearer ", "Basic x", "Bearer a b", "Bearer a,b", "Bearer a.b.c"]
  ) {
    const outcome = await authenticateHolder(access, header, CALL, "read");
    assert.ok(!outcome.ok && outcome.refusal.kind === "unauthorized", String(header));
  }
});

Deno.test("authenticateHolder() lets a write key read and write, a read key only read", async () => {
  const { access } = scriptService().service;
  for (
    const [token, needed, allowed] of [
      [TOKENS.read, "read", true],
      [TOKENS.read, "write", false],
      [TOKENS.write, "read", true],
      [TOKENS.write, "write", true],
    ] as const
  ) {
    const outcome = await authenticateHolder(access, `Bearer ${token}`, CALL, needed);
    assert.equal(outcome.ok, allowed);
  }
});

Deno.test("authenticateCaller() never asks the service for an API key", async () => {
  const outcome = await authenticateCaller({} as AccessService, `Bearer ${TOKENS.write}`);
  assert.ok(!outcome.ok && outcome.refusal.kind === "unauthorized");
});
