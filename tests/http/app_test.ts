/** Golden cases of `src/http/app.ts`: requests and their exact answers; and requests that wait. */

import assert from "node:assert/strict";
import { UNDER_WAY_MAX } from "../../src/domain/limits/load.ts";
import { createApp } from "../../src/http/app.ts";
import { createLoadGate, type LoadGate } from "../../src/http/middleware/load_gate.ts";
import { testGoldenCases } from "./golden_cases.ts";
import { quietHost, scriptService, TEST_LISTENER } from "./scripted_service.ts";

testGoldenCases("access");

Deno.test("a turn is waited for by so many requests; further ones are shed, but not health", async () => {
  const next = Promise.withResolvers<void>();
  let isOver = false;
  const host = { ...quietHost(), admit: () => isOver ? undefined : next.promise };
  const { service } = scriptService();
  const loadGate = {
    ...createLoadGate(service, host),
    enter: () => true,
    shed: () => new Response("shed", { status: 503 }),
  };
  const app = createApp(service, host, { ...TEST_LISTENER, loadGate });
  const ask = (path: string) => app.fetch(new Request(`http://127.0.0.1${path}`));

  const waiting = Array.from({ length: UNDER_WAY_MAX }, () => ask("/a/b/c/d/e"));
  assert.equal(await (await ask("/a/b/c/d/e")).text(), "shed");
  const health = ask("/health/live");
  isOver = true;
  next.resolve();
  const statuses = new Set((await Promise.all(waiting)).map(({ status }) => status));
  assert.ok(!statuses.has(503), [...statuses].join());
  assert.equal((await health).status, 200);
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
