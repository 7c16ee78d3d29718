/** Traces of a real server as a collector gets them. See docs/reference/monitoring.md. */

import assert from "node:assert/strict";
import { type OtlpReceiver, startOtlpReceiver } from "./support/otlp_receiver.ts";
import { type ServerProcess, startServer } from "./support/server_process.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const MARK = "only-in-the-data-71c2";
const SECRET = "whsec_only-the-receiver-knows";
const URL_TOKEN = "token-in-the-path-5d0e";
const SERVER_KIND = 2;
const CLIENT_KIND = 3;

interface Traced {
  readonly server: ServerProcess;
  readonly receiver: OtlpReceiver;
  /** Where the listener is. */
  readonly hookUrl: string;
  /** Headers of the deliveries so far. */
  readonly delivered: Headers[];
  send(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
}

async function withTracedServer(isOn: boolean, body: (traced: Traced) => Promise<void>) {
  await using receiver = startOtlpReceiver();
  const delivered: Headers[] = [];
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const hook = Deno.serve(options, ({ headers }) => {
    delivered.push(headers);
    return new Response();
  });
  const { OTEL_DENO, ...env } = receiver.env;
  const server = await startServer({
    env: { ...env, ...(isOn && { OTEL_DENO: OTEL_DENO! }), DAYBOOK_ALLOW_PRIVATE_WEBHOOKS: "true" },
  });
  try {
    const { credentials, baseUrls } = server;
    const send: Traced["send"] = (path, body, headers = {}) =>
      fetch(`${baseUrls.test}${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: {
          authorization: `Bearer ${
            path.startsWith("/api/") ? credentials.operator_token : credentials.keys.test.write
          }`,
          "content-type": "application/json",
          ...headers,
        },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    const url = `http://127.0.0.1:${hook.addr.port}/${URL_TOKEN}`;
    const spec = {
      agent_types: ["user"],
      aggregate_types: { order: { events: { was_placed: { schema: true, handler: [] } } } },
      modules: { listeners: { hook: { url, secret: SECRET, events: ["*"] } } },
    };
    const path = `/api/instances/${credentials.instance_id}/spec`;
    const deployed = await send(path, { environment: "test", spec });
    assert.equal(deployed.status, 200, await deployed.text());
    await body({ server, receiver, hookUrl: url, delivered, send });
    assert.equal(await server.stop(), 0);
  } finally {
    await server.remove();
    await hook.shutdown();
  }
}

const WRITE = { data: { text: MARK }, metadata: { actor: { type: "user", id: "global" } } };

async function until(holds: () => boolean): Promise<void> {
  for (let round = 0; round < 500 && !holds(); round++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.ok(holds());
}

Deno.test("a write is one trace: the caller's, request, command, commit, delivery and its receiver", () =>
  withTracedServer(true, async ({ receiver, hookUrl, delivered, send, server }) => {
    const answer = await send("/order/global/was_placed", WRITE, {
      traceparent: `00-${TRACE}-${CALLER}-01`,
      "x-request-id": "request-of-the-test",
    });
    assert.equal(answer.status, 201, await answer.text());
    const ofTrace = (name: string) =>
      receiver.waitFor((span) => span.traceId === TRACE && span.name === name);
    const request = await ofTrace("POST /{type}/{id}/{event}");
    assert.deepEqual([request.parentSpanId, request.kind], [CALLER, SERVER_KIND]);
    assert.equal(request.attributes["http.route"], "/{type}/{id}/{event}");
    assert.equal(request.attributes["daybook.request_id"], "request-of-the-test");
    assert.equal(String(request.attributes["http.response.status_code"]), "201");
    const command = await ofTrace("writeEvents");
    assert.equal(command.parentSpanId, request.spanId);
    assert.deepEqual(command.attributes, {
      "daybook.instance_id": server.credentials.instance_id,
      "daybook.environment": "test",
    });
    const commit = await ofTrace("commit");
    assert.equal(commit.parentSpanId, command.spanId);
    assert.deepEqual(commit.attributes, { "daybook.streams": 1, "daybook.events": 1 });
    const delivery = await ofTrace("deliver");
    assert.deepEqual([delivery.parentSpanId, delivery.kind], [command.spanId, CLIENT_KIND]);
    const { port } = new URL(hookUrl);
    assert.deepEqual(delivery.attributes, {
      "http.request.method": "POST",
      "server.address": "127.0.0.1",
      "server.port": Number(port),
      "url.full": `http://127.0.0.1:${port}/REDACTED`,
      "http.response.status_code": 200,
    });
    const told = delivered.map((headers) => headers.get("traceparent"));
    assert.deepEqual(told, [`00-${TRACE}-${delivery.spanId}-01`]);
  }));

Deno.test("a write without a caller's trace begins one, and another's delivery is not in it", () =>
  withTracedServer(true, async ({ receiver, delivered, send }) => {
    const ids = ["AAAAAAAA1", "AAAAAAAA2", "AAAAAAAA3"];
    await Promise.all(ids.map(async (id) => {
      await (await send(`/order/${id}/was_placed`, WRITE)).body?.cancel();
    }));
    await until(() => delivered.length === 3);
    const traces = delivered.map((headers) => headers.get("traceparent")!.split("-")[1]!);
    assert.equal(new Set(traces).size, 3);
    for (const trace of traces) {
      await receiver.waitFor(({ name, traceId }) => name === "writeEvents" && traceId === trace);
    }
  }));

Deno.test("a path that no route has names the span by its method alone", () =>
  withTracedServer(true, async ({ receiver, send }) => {
    await (await send("/_nothing/of/this")).body?.cancel();
    const request = await receiver.waitFor(({ name }) => name === "GET");
    assert.equal(request.attributes["http.route"], undefined);
    assert.equal(String(request.attributes["http.response.status_code"]), "404");
  }));

Deno.test("a refusal is no failure: its kind is on the command", () =>
  withTracedServer(true, async ({ receiver, send }) => {
    await (await send("/order/global/was_lost", WRITE)).body?.cancel();
    const command = await receiver.waitFor(({ name }) => name === "writeEvents");
    assert.equal(command.attributes["daybook.refusal"], "event_type_unknown");
    assert.equal(command.status, 0);
  }));

Deno.test("no data, no credential, no secret and no listener's URL is in what is sent away", () =>
  withTracedServer(true, async ({ receiver, delivered, send, server }) => {
    await (await send("/order/global/was_placed", WRITE)).body?.cancel();
    await (await send("/order/global")).body?.cancel();
    await until(() => delivered.length === 1);
    await receiver.waitFor(({ name }) => name === "deliver");
    await receiver.waitFor(({ name }) => name === "readAggregate");
    assert.equal(await server.stop(), 0);
    const all = receiver.texts.join("\n");
    const { keys, operator_token: token } = server.credentials;
    const hidden = [MARK, SECRET, URL_TOKEN, token, ...Object.values(keys).flatMap(Object.values)];
    for (const text of hidden) assert.ok(!all.includes(text), text);
  }));

Deno.test("where the runtime does not trace, nothing is sent and deliveries have no traceparent", () =>
  withTracedServer(false, async ({ receiver, delivered, send }) => {
    const traceparent = `00-${TRACE}-${CALLER}-01`;
    await (await send("/order/global/was_placed", WRITE, { traceparent })).body?.cancel();
    await until(() => delivered.length === 1);
    assert.equal(delivered[0]!.get("traceparent"), null);
    assert.deepEqual(receiver.texts, []);
  }));
