/** The caller's address behind proxies. */

import assert from "node:assert/strict";
import { type Call, callerAddress, type Edge } from "../../src/http/call.ts";

Deno.test("callerAddress() hands the peer and X-Forwarded-For to the configured function", () => {
  const clientAddress = (peer: string, forwarded: string | null) => `${peer}|${forwarded}`;
  const edge = { options: { clientAddress } } as unknown as Edge;
  const connection = {
    remoteAddr: { transport: "tcp", hostname: "10.0.0.1", port: 5000 },
  } as const;
  const headers = { "x-forwarded-for": "192.0.2.1" };
  const request = new Request("http://127.0.0.1/", { headers });
  assert.equal(callerAddress(edge, { connection, request } as Call), "10.0.0.1|192.0.2.1");
  const bare = { connection, request: new Request("http://127.0.0.1/") } as Call;
  assert.equal(callerAddress(edge, bare), "10.0.0.1|null");
  const unknown = { ...bare, connection: undefined } as Call;
  assert.equal(callerAddress(edge, unknown), "|null");
});
