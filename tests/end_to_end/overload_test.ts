/**
 * More concurrent requests than the server can answer: the excess is refused with a 503. Health
 * checks and metrics are still answered.
 */

import assert from "node:assert/strict";
import { RESERVED_EACH, UNDER_WAY_START } from "../../src/domain/limits/load.ts";
import { wrapEngine } from "../../src/kv/calls.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { type Answer, withWorld } from "./world.ts";
import { noteBody, uuid } from "./world_spec.ts";

/** Those that anybody may send, and the places of the instance beyond. */
const UNDER_WAY = UNDER_WAY_START + RESERVED_EACH;
const WRITE = `/note/${uuid(1)}/was_written`;

/** An engine whose writes wait until they are released. */
function stoppedEngine(inner: Engine) {
  let gate: Promise<void> | undefined;
  let open = () => {};
  const engine: Engine = wrapEngine(inner, {
    transact: async (body) => (await gate, await inner.transact(body)),
  });
  return {
    engine,
    stop: () => void ({ promise: gate, resolve: open } = Promise.withResolvers<void>()),
    go: () => (gate = undefined, open()),
  };
}

Deno.test("what is one too many is 503 after a pause; health and metrics are answered; then all goes on", async () => {
  let stopped!: ReturnType<typeof stoppedEngine>;
  const wrap = (inner: Engine) => (stopped = stoppedEngine(inner)).engine;
  await withWorld(async ({ send, host, operator, access, keys }) => {
    assert.equal((await send("POST", WRITE, { body: noteBody("a") })).status, 201);
    // A key that was read while the process began to follow the store is read once more.
    while (access.instanceOfKey(keys.test.write) === undefined) {
      assert.equal((await send("GET", `/note/${uuid(1)}`)).status, 200);
    }
    stopped.stop();
    const waiting: Promise<Answer>[] = [];
    for (let number = 0; number < UNDER_WAY; number++) {
      waiting.push(send("POST", WRITE, { body: noteBody("a") }));
    }
    const sentMs = performance.now();
    const shed = await send("POST", WRITE, { body: noteBody("a") });
    assert.ok(performance.now() - sentMs >= 490, "who is told at once asks again at once");
    assert.equal(shed.status, 503);
    assert.equal(shed.headers.get("retry-after"), "1");
    assert.match(shed.body.error_id, /^err_[0-9a-f]+$/);
    assert.equal(shed.headers.get("x-error-id"), shed.body.error_id);
    assert.deepEqual(shed.body, {
      ok: false,
      error: "Too many requests are under way",
      error_type: "unavailable",
      hint: "Retry after 1 s, and later each time",
      docs: "/_docs/errors/unavailable",
      context: {},
      error_id: shed.body.error_id,
    });
    for (const path of [`/note/${uuid(1)}`, "/api/instances", "/no/such/path"]) {
      const { status, body } = await send("GET", path);
      assert.deepEqual([status, body.error_id], [503, shed.body.error_id], path);
    }
    assert.equal((await send("GET", "/health/live")).status, 200);
    assert.equal((await send("GET", "/health/ready")).status, 200);
    assert.equal((await send("GET", "/health/ready?x=1")).status, 400, "judged, not shed");
    const { text } = await send("GET", "/metrics", { token: operator });
    assert.match(text, /daybook_http_requests_under_way 1016\n/);
    assert.match(text, /daybook_http_requests_under_way_max 1000\n/);
    assert.match(text, /daybook_http_requests_shed_total 4\n/);
    host.timeMs += 1_000;
    const later = await send("GET", `/note/${uuid(1)}`);
    assert.notEqual(later.body.error_id, shed.body.error_id);
    const told = host.lines.filter(({ message }) => message === "Too many requests are under way");
    assert.equal(told.length, 2, "one line in the log for each second");

    stopped.go();
    for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 201);
    const { body } = await send("GET", `/note/${uuid(1)}/length`);
    assert.equal(body.length, UNDER_WAY + 1, "what was shed was not written");
  }, { wrap });
});
