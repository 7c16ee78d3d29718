/** Routes made of rows: what their handlers get, and what is refused before them. */

import assert from "node:assert/strict";
import type { Operator } from "../../src/domain/access/access.ts";
import type { Call, Edge, Route } from "../../src/http/call.ts";
import { operator, unrestricted } from "../../src/http/endpoint.ts";
import { TEXT } from "../../src/http/openapi/schema.ts";
import { flag } from "../../src/http/parameter.ts";
import { fakeHost } from "../support/fake_host.ts";
import { scriptService } from "./scripted_service.ts";

const ADA: Operator = { subject: "ada" };

const ROW = {
  id: "test",
  summary: "Tells what it was asked",
  query: { loud: flag() },
  fields: { name: TEXT },
  answers: {},
  run: (_edge: Edge, _call: Call, _who: Operator, asked: unknown) => Response.json(asked),
} as const;

/** `[status, body, whether the body was read]`. */
async function ask(route: Route, query: string, body: unknown, who: Operator = ADA) {
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  const request = new Request("http://localhost/", init);
  const edge = { service: scriptService().service } as Edge;
  const call = { request, requestId: "req_1", query, params: [], owner: "ada", host: fakeHost() };
  assert.ok(route.access === "operator");
  const response = await route.run(edge, call as unknown as Call, who);
  return [response.status, await response.json(), request.bodyUsed];
}

Deno.test("a handler gets the values of its query and the fields of its body", async () => {
  const asked = { query: { loud: true }, body: { name: "a" } };
  assert.deepEqual(await ask(operator(ROW), "loud=1", { name: "a" }), [200, asked, true]);
});

Deno.test("the query is refused before the body is read, the caller before it too", async () => {
  const restricted: Operator = { subject: "bob", instances: [] };
  const rows = [
    [operator(ROW), "loud=x", ADA, 400, "Query parameter 'loud' must be true or false"],
    [operator(ROW), "lout=1", ADA, 400, "Unknown query parameter 'lout'"],
    [
      unrestricted(ROW),
      "",
      restricted,
      403,
      "This call needs an operator token that is not restricted to instances",
    ],
  ] as const;
  for (const [route, query, who, status, error] of rows) {
    const [answered, body, isRead] = await ask(route, query, {}, who);
    assert.deepEqual([answered, body.error, isRead], [status, error, false]);
  }
});

Deno.test("a body without its fields is refused with the path", async () => {
  const [status, body] = await ask(unrestricted(ROW), "", {});
  assert.deepEqual([status, body.path], [400, "name"]);
});

Deno.test("the document shows the fields as a body that has no others", () => {
  assert.deepEqual(operator(ROW).operation.body, {
    type: "object",
    properties: { name: { type: "string" } },
    required: ["name"],
    additionalProperties: false,
  });
});
