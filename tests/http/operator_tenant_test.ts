/** The tenant that an operator call is about. */

import assert from "node:assert/strict";
import type { Environment } from "../../src/domain/tenant.ts";
import type { Call, Edge } from "../../src/http/call.ts";
import { decodeEnvironment, findOperatorTenant } from "../../src/http/operator_tenant.ts";
import { scriptService, tenantOf } from "./scripted_service.ts";

Deno.test("findOperatorTenant() notes the tenant on the call, so that a failure is recorded there", async () => {
  const edge = { service: scriptService().service } as Edge;
  const place = { environment: "staging", servesData: true } as const;
  const call = { params: ["i1"], place } as unknown as Call;
  const tenant = await findOperatorTenant(edge, call, { subject: "ada" }, {
    query: { environment: undefined },
    body: {},
  });
  assert.deepEqual(tenant, { ok: true, value: tenantOf("staging") });
  assert.deepEqual(call.tenant, tenantOf("staging"));
});

function decode(inQuery: string | undefined, inBody: string | undefined, own: Environment) {
  const body = inBody === undefined ? {} : { environment: inBody };
  return decodeEnvironment({ query: { environment: inQuery }, body }, own);
}

Deno.test("decodeEnvironment() takes the body's, the query's, or the listener's own", () => {
  assert.deepEqual(decode(undefined, undefined, "staging"), { ok: true, value: "staging" });
  assert.deepEqual(decode("test", undefined, "production"), {
    ok: true,
    value: "test",
  });
  assert.deepEqual(decode("production", "prod", "test"), {
    ok: true,
    value: "production",
  });
  assert.ok(!decode("", undefined, "test").ok);
  assert.ok(!decode("test", "staging", "test").ok);
});
