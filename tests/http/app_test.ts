/** Golden cases of `src/http/app.ts`: requests and their exact answers; and requests that wait. */

import assert from "node:assert/strict";
import { RESERVED_EACH, UNDER_WAY_MAX } from "../../src/domain/limits/load.ts";
import { createApp } from "../../src/http/app.ts";
import { createLoadGate, type LoadGate } from "../../src/http/middleware/load_gate.ts";
import { testGoldenCases } from "./golden_cases.ts";
import { quietHost, scriptService, TEST_LISTENER } from "./scripted_service.ts";

testGoldenCases("access");

/** An application in which no request begins before `open()`. */
function openFullTurn() {
  const opened = Promise.withResolvers<void>();
  const owners: string[] = [];
  const host = {
    ...quietHost(),
    admission: {
      enter: () => false,
      wait(owner: string) {
        owners.push(owner);
        return opened.promise;
      },
      get waiting() {
        return owners.length;
      },
      waitingOf: (owner: string) => owners.filter((each) => each === owner).length,
    },
  };
  const { service } = scriptService();
  const instanceOfKey = (key: string) => key === "dbk_known" ? "an instance" : undefined;
  const access = Object.assign(Object.create(service.access), { instanceOfKey });
  const loadGate = {
    ...createLoadGate(service, host),
    enter: () => true,
    shed: () => new Response("shed", { status: 503 }),
  };
  const app = createApp({ ...service, access }, host, { ...TEST_LISTENER, loadGate });
  function ask(path: string, key?: string): Promise<Response> {
    const headers = new Headers(key === undefined ? {} : { authorization: `Bearer ${key}` });
    return app.fetch(new Request(`http://127.0.0.1${path}`, { headers }));
  }
  return { ask, owners, open: opened.resolve };
}

Deno.test("so many requests wait for a turn; further ones are shed, but not health", async () => {
  const { ask, open } = openFullTurn();
  const waiting = Array.from({ length: UNDER_WAY_MAX }, () => ask("/a/b/c/d/e"));
  assert.equal(await (await ask("/a/b/c/d/e")).text(), "shed");
  const health = ask("/health/live");
  open();
  const statuses = new Set((await Promise.all(waiting)).map(({ status }) => status));
  assert.ok(!statuses.has(503), [...statuses].join());
  assert.equal((await health).status, 200);
});

Deno.test("each instance may have some requests that wait for a turn, however many others wait", async () => {
  const { ask, owners, open } = openFullTurn();
  const waiting = Array.from({ length: UNDER_WAY_MAX }, () => ask("/a/b/c/d/e", "dbk_unknown"));
  const known = Array.from({ length: RESERVED_EACH }, () => ask("/a/b/c/d/e", "dbk_known"));
  assert.equal(await (await ask("/a/b/c/d/e", "dbk_known")).text(), "shed");
  assert.equal(owners.filter((owner) => owner === "an instance").length, RESERVED_EACH);
  open();
  for (const answer of await Promise.all([...waiting, ...known])) assert.equal(answer.status, 404);
});

Deno.test("requests wait for a turn under the name of their instance, and health under its own", async () => {
  const { ask, owners, open } = openFullTurn();
  const asked = [
    ask("/a/b", "dbk_known"),
    ask("/a/b", "dbk_unknown"),
    ask("/a/b"),
    ask("/health/live"),
  ];
  assert.deepEqual(owners, ["an instance", "", "", "process"]);
  open();
  await Promise.all(asked);
});

Deno.test("a request whose key is known has a place of its instance where the gate is full", async () => {
  const instances = new Map([["dbk_known", "an instance"], ["dbk_busy", "a busy one"]]);
  const { service } = scriptService();
  const instanceOfKey = (key: string) => instances.get(key);
  const access = Object.assign(Object.create(service.access), { instanceOfKey });
  const left: (string | undefined)[] = [];
  const loadGate: LoadGate = {
    ...createLoadGate(service, quietHost()),
    enter: () => false,
    enterReserved: (instance) => instance === "an instance",
    leave: (_enteredMs, _nowMs, instance) => void left.push(instance),
    shed: () => new Response("shed", { status: 503 }),
  };
  const app = createApp({ ...service, access }, quietHost(), { ...TEST_LISTENER, loadGate });
  const ask = async (key?: string) => {
    const headers = new Headers(key === undefined ? {} : { authorization: `Bearer ${key}` });
    return (await app.fetch(new Request("http://127.0.0.1/nothing", { headers }))).status;
  };
  assert.notEqual(await ask("dbk_known"), 503);
  assert.deepEqual(left, ["an instance"]);
  for (const key of ["dbk_busy", "dbk_unknown", undefined]) assert.equal(await ask(key), 503);
  assert.deepEqual(left, ["an instance"]);
});
