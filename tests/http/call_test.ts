/** The caller's address behind proxies. */

import assert from "node:assert/strict";
import { type Call, callerAddress, type Edge } from "../../src/http/call.ts";

Deno.test("callerAddress() hands the peer and X-Forwarded-For to the configured function", () => {
  const clientAddress = (peer: string, forwarded: string | null) => `${peer}|${forwarded}`;
  const edge = { options: { clientAddress } } as unknown as Edge;
  const headers = { "x-forwarded-for": "192.0.2.1" };
  const request = new Request("http://127.0.0.1/", { headers });
  assert.equal(callerAddress(edge, { peer: "10.0.0.1", request } as Call), "10.0.0.1|192.0.2.1");
  const bare = { peer: "10.0.0.1", request: new Request("http://127.0.0.1/") } as Call;
  assert.equal(callerAddress(edge, bare), "10.0.0.1|null");
});
