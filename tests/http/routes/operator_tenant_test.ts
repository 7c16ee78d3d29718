/** The tenant that an operator call is about. */

import assert from "node:assert/strict";
import type { Call, Edge } from "../../../src/http/call.ts";
import { findOperatorTenant } from "../../../src/http/routes/operator_tenant.ts";
import { scriptService, tenantOf } from "../scripted_service.ts";

Deno.test("findOperatorTenant() notes the tenant on the call, so that a failure is recorded there", async () => {
  const edge = { service: scriptService().service } as Edge;
  const place = { environment: "staging", servesData: true } as const;
  const call = { query: "", params: ["i1"], place } as unknown as Call;
  const tenant = await findOperatorTenant(edge, call, { subject: "ada" });
  assert.deepEqual(tenant, { ok: true, value: tenantOf("staging") });
  assert.deepEqual(call.tenant, tenantOf("staging"));
});
