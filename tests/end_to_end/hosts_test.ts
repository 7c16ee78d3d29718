/** Hosts of a base domain, and operator calls on every listener. See docs/reference/basics.md. */

import assert from "node:assert/strict";
import { ENVIRONMENTS } from "../../src/domain/tenant.ts";
import { refusal } from "./cases.ts";
import { withWorld } from "./world.ts";
import { noteBody } from "./world_spec.ts";

const HOSTS = [
  ["shop.example.com", "production"],
  ["shop-staging.example.com", "staging"],
  ["shop-test.example.com", "test"],
  ["SHOP.Example.COM", "production"],
  ["shop-test.example.com:8443", "test"],
] as const;

for (const [host, environment] of HOSTS) {
  Deno.test(`host ${host} is ${environment}: its keys work, those of the others are 403`, () =>
    withWorld(async ({ send, keys }) => {
      for (const name of ENVIRONMENTS) {
        const { status } = await send("GET", "/note", { host, token: keys[name].write });
        assert.equal(status, name === environment ? 200 : 403, name);
      }
    }));
}

Deno.test("a key of another instance than the host names is 403", () =>
  withWorld(async ({ send, keys }) => {
    await send("POST", "/api/instances", { body: { slug: "other" } });
    const token = keys.test.write;
    const { status, body } = await send("GET", "/note", { host: "other-test.example.com", token });
    const text = "The API key belongs to another instance";
    assert.deepEqual([status, body], [403, refusal("forbidden", text)]);
  }));

Deno.test("two instances share nothing: types, ids and keys of one are unknown to the other", () =>
  withWorld(async ({ send, keys }) => {
    const { id } = (await send("POST", "/api/instances", { body: { slug: "other" } })).body;
    const issued = await send("POST", `/api/instances/${id}/keys`, {
      body: { name: "k", scope: "write", environment: "test" },
    });
    const body = noteBody("a");
    await send("POST", "/note/global/was_written", { body, token: keys.test.write });
    const seen = await send("GET", "/note/global", { token: issued.body.key });
    assert.equal(seen.status, 404);
    assert.equal(seen.body.error, "Aggregate type 'note' not found in spec");
    const host = "other-test.example.com";
    assert.equal((await send("GET", "/note", { host, token: issued.body.key })).status, 404);
    assert.equal((await send("GET", "/note", { host, token: keys.test.write })).status, 403);
  }));

Deno.test("api.<base> answers operator calls, and no data", () =>
  withWorld(async ({ send, keys, operator, instanceId }) => {
    const host = "api.example.com";
    assert.equal((await send("GET", "/api/instances", { host, token: operator })).status, 200);
    assert.equal((await send("GET", "/note", { host, token: keys.test.write })).status, 404);
    // If left out, the environment is test there.
    const made = await send("POST", `/api/instances/${instanceId}/keys`, {
      host,
      token: operator,
      body: { name: "k", scope: "read" },
    });
    assert.equal(made.body.environment, "test");
  }));

for (
  const host of [
    "example.com",
    "shop.example.org",
    "a.b.example.com",
    "-test.example.com",
    "10.0.0.1",
    "evilexample.com",
  ]
) {
  Deno.test(`an unknown host ${host} is 404`, () =>
    withWorld(async ({ send, keys, operator }) => {
      assert.equal((await send("GET", "/note", { host, token: keys.test.write })).status, 404);
      assert.equal((await send("GET", "/api/instances", { host, token: operator })).status, 404);
    }));
}

for (const environment of ENVIRONMENTS) {
  Deno.test(`operator calls are answered on the listener of ${environment} and name any environment`, () =>
    withWorld(async ({ send, instanceId }) => {
      for (
        const [asked, got] of [["prod", "production"], ["staging", "staging"], ["test", "test"]]
      ) {
        const path = `/api/instances/${instanceId}/keys?environment=${asked}`;
        const { status, body } = await send("GET", path, { environment });
        assert.equal(status, 200);
        for (const key of body.data) assert.equal(key.environment, got);
      }
    }));
}
