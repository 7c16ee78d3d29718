/**
 * What a real server prints in a run full of refusals, failures and hostile texts. It prints
 * only JSON lines and messages for people, and nobody's secrets. See
 * docs/reference/monitoring.md.
 */

import assert from "node:assert/strict";
import { framed, handler } from "../support/wasm/build_module.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const SECRETS = {
  jwt: "the-secret-of-tokens-0123456789abcdef",
  password: "correct horse battery",
  wrongPassword: "wrong horse battery",
  listener: "secret-of-the-listener-6a1",
  hookToken: "token-in-the-hook-url-8c4",
  refusedSecret: "short-one-1",
  data: "in-the-data-of-an-event-3f7",
  body: "in-a-body-that-is-no-json-9e2",
  query: "in-a-query-that-is-none-7d3",
  collector: "header-of-the-collector-2b9",
  unknownKey: `dbk_0_test_${"u".repeat(43)}`,
  unknownToken: "aaaa.bbbb-unknown-token.cccc",
};

const plain = { schema: true, handler: [] };

interface Asked {
  readonly token?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly method?: string;
}

async function ask(server: ServerProcess, path: string, asked: Asked = {}) {
  const { token, headers, body, method = body === undefined ? "GET" : "POST" } = asked;
  const isRaw = typeof body === "string" || body instanceof FormData || body === undefined;
  const answer = await fetch(`${server.baseUrls.test}${path}`, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(!(body instanceof FormData) && { "content-type": "application/json" }),
      ...headers,
    },
    body: isRaw ? body : JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, body: text.startsWith("{") ? JSON.parse(text) : undefined };
}

/** Uses accounts, keys that come and go, and invalid credentials. Returns the keys it made. */
async function useCredentials(server: ServerProcess): Promise<string[]> {
  const { instance_id: id, operator_token: token } = server.credentials;
  const account = { email: "ada@example.com", password: SECRETS.password };
  assert.equal((await ask(server, "/api/users", { token, body: account })).status, 201);
  const login = await ask(server, "/api/login", { body: account });
  assert.equal(login.status, 200);
  const wrong = { ...account, password: SECRETS.wrongPassword };
  assert.equal((await ask(server, "/api/login", { body: wrong })).status, 401);
  const forged = { ...wrong, email: 'a@b.c"\n{"level":"error","message":"forged"}' };
  assert.equal((await ask(server, "/api/login", { body: forged })).status, 401);
  const newKey = { name: "k", scope: "write", environment: "test" };
  const made = await ask(server, `/api/instances/${id}/keys`, { token, body: newKey });
  const rotated = await ask(server, `/api/keys/${made.body.id}/rotate`, { token, body: {} });
  for (const unknown of [SECRETS.unknownKey, SECRETS.unknownToken, made.body.key]) {
    assert.equal((await ask(server, "/order", { token: unknown })).status, 401);
  }
  return [login.body.token, made.body.key, rotated.body.key];
}

/** Makes a server log: a listener that fails, a module that traps, invalid bodies. */
async function makeFailures(server: ServerProcess, hookPort: number): Promise<void> {
  const { instance_id: id, operator_token: token, keys } = server.credentials;
  const key = keys.test.write;
  const form = new FormData();
  form.set("name", "trap");
  form.set("environment", "test");
  form.set("file", new Blob([await framed(handler("(unreachable)"))]));
  assert.equal((await ask(server, "/_admin/blobs", { token, body: form })).status, 201);
  const url = `http://127.0.0.1:${hookPort}/${SECRETS.hookToken}`;
  const hook = { url, secret: SECRETS.listener, events: ["order.was_placed"] };
  const spec = {
    agent_types: ["user"],
    aggregate_types: {
      order: {
        events: {
          was_placed: plain,
          was_sent: {
            ...plain,
            implications: [{
              emit: { aggregate_type: "order", id: "$.data.text", event_type: "was_placed" },
            }],
          },
          was_trapped: { schema: true, handler: { wasm: "trap" } },
        },
      },
    },
    modules: { listeners: { hook } },
  };
  const deploy = (listeners: unknown) =>
    ask(server, `/api/instances/${id}/spec`, {
      token,
      body: { environment: "test", spec: { ...spec, modules: { listeners } } },
    });
  assert.equal((await deploy({ hook: { ...hook, secret: SECRETS.refusedSecret } })).status, 422);
  assert.equal((await deploy({ hook })).status, 200);
  const metadata = { actor: { type: "user", id: "global" } };
  const write = (event: string) =>
    ask(server, `/order/global/${event}`, {
      token: key,
      body: { data: { text: SECRETS.data }, metadata },
      headers: { "x-request-id": "a\tb" },
    });
  assert.equal((await write("was_placed")).status, 201);
  assert.equal((await write("was_sent")).status, 201);
  assert.equal((await write("was_trapped")).status, 500);
  const trap = await ask(server, "/order/%0A%1B%5B2J%E2%80%A8forged/was_trapped", {
    token: key,
    body: { data: {}, metadata },
  });
  assert.equal(trap.status, 422);
  assert.equal(
    (await ask(server, "/order/global", { token: key, body: SECRETS.body })).status,
    400,
  );
  const query = `/order?limit=${SECRETS.query}`;
  assert.equal((await ask(server, query, { token: key })).status, 400);
}

async function until(holds: () => boolean, what: string): Promise<void> {
  for (let round = 0; round < 500 && !holds(); round++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.ok(holds(), what);
}

/** The secrets of the deployment that are kept in files. */
function keptSecrets(server: ServerProcess): string[] {
  const { keys, operator_token: token } = server.credentials;
  return [token, ...Object.values(keys).flatMap(({ read, write }) => [read, write])];
}

Deno.test("a run full of failures prints lines of JSON and no secret", async () => {
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const hook = Deno.serve(options, () => new Response(SECRETS.hookToken, { status: 410 }));
  const server = await startServer({
    env: {
      DAYBOOK_JWT_SECRET: SECRETS.jwt,
      DAYBOOK_ALLOW_PRIVATE_WEBHOOKS: "true",
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${SECRETS.collector}`,
    },
  });
  try {
    const made = await useCredentials(server);
    await makeFailures(server, hook.addr.port);
    const failed = ["Login refused", "A delivery has failed for good", "error_id"];
    for (const text of failed) await until(() => server.output().includes(text), text);
    const hidden = [...Object.values(SECRETS), ...made, ...keptSecrets(server)];
    assert.equal(await server.stop(), 0);
    const output = server.output();
    for (const secret of hidden) assert.ok(!output.includes(secret), secret);
    checkLines(output);
  } finally {
    await server.remove();
    await hook.shutdown();
  }
});

const FOR_PEOPLE = [
  /^Daybook is ready\.$/,
  /^ {2}(?:production|staging|test) +http:\/\/127\.0\.0\.1:\d+$/,
  /^ {2}data +\S+$/,
  /^ {2}console +\/_console\/ .*$/,
  /^ {2}docs +\/_docs\/ .*$/,
  /^First start: API keys and an operator token are in \S+$/,
  /^ {2}keys +\S+credentials\.json; its operator token lasts a day, .*$/,
];

/** Every line must be one of ours: JSON with its three fields, or a message for people. */
function checkLines(output: string): void {
  const lines = output.split("\n").filter((line) => line !== "");
  const logged = lines.filter((line) => line.startsWith("{"));
  assert.ok(logged.length >= 5, output);
  for (const line of logged) {
    const { time, level, message } = JSON.parse(line);
    assert.match(time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/, line);
    assert.ok(["debug", "info", "warn", "error"].includes(level), line);
    assert.equal(typeof message, "string", line);
    assert.notEqual(message, "forged");
  }
  for (const line of lines.filter((each) => !each.startsWith("{"))) {
    assert.ok(FOR_PEOPLE.some((pattern) => pattern.test(line)), line);
  }
}
