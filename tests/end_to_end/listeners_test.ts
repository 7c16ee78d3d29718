/** Listeners as clients and receivers see them: real requests to receivers on this machine. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { webhookSender } from "../../src/webhook/sender.ts";
import type { FakeHost } from "../support/fake_host.ts";
import { deliver } from "../support/listener_fixtures.ts";
import { uuid } from "../support/service_fixture.ts";
import { until } from "../support/until.ts";
import { withWorld, type World } from "./world.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const plain = { schema: true, handler: [] };

function specFor(url: string, change: Record<string, unknown> = {}) {
  const hook = { url, secret: SECRET, events: ["order.*"], ...change };
  return {
    agent_types: ["user"],
    aggregate_types: { order: { events: { was_placed: plain } } },
    modules: { listeners: { hook } },
  };
}

function settings(allowPrivate: boolean) {
  return (host: FakeHost) => (
    { sender: webhookSender(host, { allowPrivate }), headerPrefix: "ACME", allowPrivate }
  );
}

function deploy({ send, instanceId }: World, spec: unknown, environment = "test") {
  return send("POST", `/api/instances/${instanceId}/spec`, { body: { environment, spec } });
}

async function place(world: World, id: string): Promise<void> {
  const body = { data: {}, metadata: { actor: { type: "user", id: "global" } } };
  const { status } = await world.send("POST", `/order/${id}/was_placed`, { body });
  assert.equal(status, 201);
}

Deno.test("an event reaches its receiver, signed, and the listings tell of it without the secret", async () => {
  const heard: { headers: Headers; body: string }[] = [];
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const receiver = Deno.serve(options, async (request) => {
    heard.push({ headers: request.headers, body: await request.text() });
    return new Response(null, { status: heard.length === 1 ? 410 : 200 });
  });
  const url = `http://127.0.0.1:${receiver.addr.port}/hook`;
  await withWorld(async (world) => {
    const { send, service } = world;
    assert.equal((await deploy(world, specFor(url))).status, 200);
    await place(world, uuid(1));
    await deliver(service);
    const [{ headers, body }] = heard as [typeof heard[0]];
    const signature = createHmac("sha256", SECRET).update(body).digest("hex");
    assert.equal(headers.get("x-acme-signature"), signature);
    const { id, event } = JSON.parse(body);
    assert.equal(event.key, `order:${uuid(1)}`);

    const { body: dead } = await send("GET", "/_listeners/hook/deliveries?state=dead");
    assert.equal(dead.data.length, 1);
    assert.equal(dead.data[0].delivery_id, id);
    assert.equal(dead.data[0].reason, "gone");
    assert.deepEqual(dead.data[0].event, { key: event.key, stream_id: event.id });

    const replay = (body: unknown) => send("POST", "/_listeners/hook/replay", { body });
    const answer = await replay({ delivery_id: id });
    assert.equal(answer.status, 202);
    assert.deepEqual(answer.body, { ok: true, replayed: 1, truncated: false });
    await deliver(service);
    assert.equal(JSON.parse(heard[1]!.body).attempt, 2);
    assert.equal((await replay({ since: "2026-01-01T00:00:00Z" })).body.replayed, 1);
    await deliver(service);
    assert.equal(heard.length, 3);

    const { body: listeners, text } = await send("GET", "/_listeners");
    assert.deepEqual(listeners.data, [{
      name: "hook",
      url,
      events: ["order.*"],
      enabled: true,
      deliveries: { pending: 0, delivered: 1, dead: 0, dropped: 0 },
      counted_to: 200,
      circuit: { state: "closed" },
    }]);
    assert.ok(!text.includes(SECRET));
  }, { spec: null, webhooks: settings(true) });
  await receiver.shutdown();
});

Deno.test("a receiver that takes the connection and says nothing fails after 15 s; the retry is 5 s later", async () => {
  const sockets: Deno.Conn[] = [];
  const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepting = (async () => {
    for await (const socket of silent) sockets.push(socket);
  })();
  const { port } = silent.addr as Deno.NetAddr;
  await withWorld(async (world) => {
    const { host, service, send } = world;
    await deploy(world, specFor(`http://127.0.0.1:${port}/`));
    await place(world, uuid(1));
    const delivering = deliver(service);
    await until(() => sockets.length === 1, "the connection");
    host.timeMs += 14_999;
    await new Promise((resolve) => setTimeout(resolve, 50));
    const { body: before } = await send("GET", "/_listeners/hook/deliveries");
    assert.deepEqual(before.data[0].tries, []);
    host.timeMs += 1;
    await delivering;
    const { body } = await send("GET", "/_listeners/hook/deliveries");
    assert.deepEqual(body.data[0].tries, [
      { at: "2026-01-01T00:00:00.000Z", failure: "timeout", duration_ms: 15_000 },
    ]);
    assert.equal(body.data[0].next_try_at, "2026-01-01T00:00:20.000Z");
  }, { spec: null, webhooks: settings(true) });
  for (const socket of sockets) socket.close();
  silent.close();
  await accepting;
});

Deno.test("nobody at the port is a failed try; an answer without end counts by its head", async () => {
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = closed.addr as Deno.NetAddr;
  closed.close();
  const chunk = new Uint8Array(64 * 1024);
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const giant = Deno.serve(options, async (request) => {
    await request.text();
    return new Response(new ReadableStream({ pull: (stream) => stream.enqueue(chunk) }));
  });
  await withWorld(async (world) => {
    const { host, service, send } = world;
    await deploy(world, specFor(`http://127.0.0.1:${port}/`));
    await place(world, uuid(1));
    await deliver(service);
    const { body: refused } = await send("GET", "/_listeners/hook/deliveries");
    assert.equal(refused.data[0].tries[0].failure, "connection_failed");
    await deploy(world, specFor(`http://127.0.0.1:${giant.addr.port}/`));
    host.timeMs += 5_000;
    await deliver(service);
    const { body: delivered } = await send("GET", "/_listeners/hook/deliveries?state=delivered");
    assert.equal(delivered.data[0].attempts, 2);
  }, { spec: null, webhooks: settings(true) });
  await giant.shutdown();
});

Deno.test("a deploy refuses what must not be told: private addresses, and plain text in production", async () => {
  await withWorld(async (world) => {
    const cases = [
      ["http://127.0.0.1/", "test", "url_not_public"],
      ["http://2130706433/", "staging", "url_not_public"],
      ["https://[::ffff:10.0.0.1]/", "production", "url_not_public"],
      ["http://example.com/", "production", "url_not_https"],
    ] as const;
    for (const [url, environment, rule] of cases) {
      const { status, body, text } = await deploy(world, specFor(url), environment);
      assert.equal(status, 422, url);
      assert.equal(body.error_type, "spec_invalid");
      assert.equal(body.violations[0].rule, rule);
      assert.equal(body.path, "modules.listeners.hook.url");
      assert.ok(!text.includes(SECRET));
    }
    for (
      const [url, environment] of [["http://example.com/", "test"], [
        "https://example.com/",
        "production",
      ]]
    ) {
      assert.equal((await deploy(world, specFor(url!), environment)).status, 200);
    }
  }, { spec: null, webhooks: settings(false) });
});

Deno.test("a name that leads to this machine is refused at the try, and nobody is connected to", async () => {
  let connections = 0;
  const canary = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepting = (async () => {
    for await (const socket of canary) {
      connections++;
      socket.close();
    }
  })();
  const { port } = canary.addr as Deno.NetAddr;
  await withWorld(async (world) => {
    await deploy(world, specFor(`http://localhost:${port}/`));
    await place(world, uuid(1));
    await deliver(world.service);
    const { body } = await world.send("GET", "/_listeners/hook/deliveries");
    assert.equal(body.data[0].tries[0].failure, "address_refused");
    assert.equal(connections, 0);
  }, { spec: null, webhooks: settings(false) });
  canary.close();
  await accepting;
});

Deno.test("deliveries are paged over all states; wrong states, cursors and names are refused", async () => {
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  let count = 0;
  const receiver = Deno.serve(
    options,
    () => new Response(null, { status: [200, 410, 500][count++ % 3] }),
  );
  await withWorld(async (world) => {
    const { send, service, keys } = world;
    await deploy(world, specFor(`http://127.0.0.1:${receiver.addr.port}/`));
    for (let number = 0; number < 9; number++) {
      await place(world, uuid(number));
      await deliver(service);
    }
    const states: string[] = [];
    const ids = new Set<string>();
    for (let start = "";;) {
      const { body } = await send("GET", `/_listeners/hook/deliveries?limit=2${start}`);
      for (const each of body.data) {
        states.push(each.state);
        ids.add(each.delivery_id);
      }
      assert.equal(body.truncated, body.next_start !== undefined);
      if (!body.truncated) break;
      start = `&start=${encodeURIComponent(body.next_start)}`;
    }
    const three = (state: string) => [state, state, state];
    assert.deepEqual(states, [...three("pending"), ...three("dead"), ...three("delivered")]);
    assert.equal(ids.size, 9);
    for (
      const query of [
        "state=lost",
        "start=x",
        "start=dead.x",
        "state=dead&start=pending.a.000000000000",
      ]
    ) {
      assert.equal((await send("GET", `/_listeners/hook/deliveries?${query}`)).status, 400, query);
    }
    assert.equal((await send("GET", "/_listeners/nobody/deliveries")).status, 404);
    const token = keys.test.read;
    const refused = await send("POST", "/_listeners/hook/replay", { token, body: { since: "x" } });
    assert.equal(refused.status, 403, "a read key replays nothing");
    assert.equal(
      (await send("POST", "/_listeners/nobody/replay", { body: { delivery_id: "x" } })).status,
      404,
    );
  }, { spec: null, webhooks: settings(true) });
  await receiver.shutdown();
});
