/** What the HTTP edge adds for browsers, caches and slow lines, on the routes that have it. */

import assert from "node:assert/strict";
import { type Answer, withWorld, type World } from "./world.ts";
import { METADATA, noteBody } from "./world_spec.ts";

const WRITE = "/note/global/was_written";
const CURRENT: readonly (readonly [name: string, path: (world: World) => string])[] = [
  ["the state of an aggregate", () => "/note/global"],
  ["its events", () => "/note/global/events"],
  ["the OpenAPI document of a spec", () => "/openapi.json"],
  ["the current spec", ({ instanceId }) => `/api/instances/${instanceId}/spec?environment=test`],
];

async function changeAll(world: World): Promise<void> {
  const written = await world.send("POST", WRITE, { body: noteBody("another") });
  assert.equal(written.status, 201, written.text);
  const path = `/api/instances/${world.instanceId}/spec?environment=test`;
  const { spec } = (await world.send("GET", path)).body;
  spec.aggregate_types.letter = { events: { was_sent: { schema: true, handler: [] } } };
  const body = { spec, environment: "test" };
  const deployed = await world.send("POST", path.split("?")[0]!, { body });
  assert.equal(deployed.status, 200, deployed.text);
}

for (const [name, pathOf] of CURRENT) {
  Deno.test(`ETag: ${name} is 304 until it changes, and then as a whole under another tag`, () =>
    withWorld(async (world) => {
      const path = pathOf(world);
      assert.equal((await world.send("POST", WRITE, { body: noteBody("one") })).status, 201);
      const first = await world.send("GET", path);
      const tag = first.headers.get("etag")!;
      assert.equal(first.headers.get("cache-control"), "private, no-cache");
      assert.match(first.headers.get("vary")!, /Authorization/);
      const again = await world.send("GET", path, { headers: { "if-none-match": tag } });
      assert.deepEqual([again.status, again.text], [304, ""]);
      await changeAll(world);
      const changed = await world.send("GET", path, { headers: { "if-none-match": tag } });
      assert.equal(changed.status, 200);
      assert.notEqual(changed.headers.get("etag"), tag);
      assert.equal(
        changed.headers.get("etag"),
        (await world.send("GET", path)).headers.get("etag"),
      );
    }));
}

Deno.test("ETag: a long state has a tag of its version, which each event changes", () =>
  withWorld(async ({ send }) => {
    const write = async () => {
      const body = noteBody("x".repeat(90_000));
      assert.equal((await send("POST", WRITE, { body })).status, 201);
    };
    const read = (tag?: string) =>
      send("GET", "/note/global", { headers: tag === undefined ? {} : { "if-none-match": tag } });
    await write();
    const tag = (await read()).headers.get("etag")!;
    assert.match(tag, /^W\/"[0-9a-f]{16}-0-1"$/);
    for (let time = 0; time < 2; time++) assert.equal((await read(tag)).status, 304);
    await write();
    const changed = await read(tag);
    assert.equal(changed.status, 200);
    assert.match(changed.headers.get("etag")!, /-0-2"$/);
  }));

Deno.test("ETag: another key learns nothing by a tag that it has guessed", () =>
  withWorld(async (world) => {
    await world.send("POST", WRITE, { body: noteBody("one") });
    const tag = (await world.send("GET", "/note/global")).headers.get("etag")!;
    for (const known of [tag, "*"]) {
      const headers = { "if-none-match": known };
      const answer = await world.send("GET", "/note/global", { token: "dbk_0_test_x", headers });
      assert.equal(answer.status, 401);
      const missing = await world.send("GET", "/note/AAAAAAAA1", { headers });
      assert.equal(missing.status, 404);
    }
  }));

function exposedBy({ headers }: Answer): string {
  return headers.get("access-control-expose-headers") ?? "";
}

Deno.test("CORS: a page can read the headers of answers and of refusals", () =>
  withWorld(async ({ send }) => {
    const headers = { origin: "https://app.example.com" };
    const body = { data: { text: "one" }, metadata: METADATA };
    for (
      const answer of [
        await send("POST", WRITE, { body, headers }),
        await send("GET", "/note/global", { headers }),
        await send("GET", "/note/AAAAAAAA9", { headers }),
        await send("GET", "/no/such/path/at/all", { headers }),
      ]
    ) {
      for (const name of ["X-Request-Id", "X-RateLimit-Remaining", "Retry-After", "ETag"]) {
        assert.ok(exposedBy(answer).includes(name), `${answer.status}: ${name}`);
      }
    }
    assert.equal(exposedBy(await send("GET", "/note/global")), "");
  }));
