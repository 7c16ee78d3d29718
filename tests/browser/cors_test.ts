/**
 * What pages of two origins can do with the API, in Chromium. `DAYBOOK_CORS_ORIGINS` names one
 * of the origins and not the other. Runs where Chromium is installed.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type Credentials, startServer } from "../support/server_process.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];
const chromium = (Deno.env.get("PATH") ?? "").split(":")
  .flatMap((folder) => NAMES.map((name) => join(folder, name)))
  .find(isFile);
const ANSWER_MS_MAX = 60_000;

if (chromium === undefined) {
  console.log(`SKIPPED: CORS in a browser, for none of ${NAMES.join(", ")} is on the PATH`);
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

interface Call {
  readonly name: string;
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The status and the headers that the page may read; "blocked" if the browser refuses. */
type Seen = Readonly<Record<string, "blocked" | { status: number; headers: string[] }>>;

function pageOf(base: string, calls: readonly Call[]): string {
  return `<!doctype html><script type="module">
const seen = {};
for (const { name, path, method, headers, body } of ${JSON.stringify(calls)}) {
  try {
    const answer = await fetch(${JSON.stringify(base)} + path, { method, headers, body });
    seen[name] = { status: answer.status, headers: [...answer.headers.keys()] };
  } catch {
    seen[name] = "blocked";
  }
}
await fetch("/seen", { method: "POST", body: JSON.stringify(seen) });
</script>`;
}

/** Opens an origin; `seen` resolves with what its page saw once a browser has opened it. */
function openOrigin() {
  const { promise, resolve } = Promise.withResolvers<Seen>();
  let page = "";
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      if (request.method !== "POST") {
        return new Response(page, { headers: { "content-type": "text/html" } });
      }
      resolve(await request.json() as Seen);
      return new Response();
    },
  );
  const origin = `http://127.0.0.1:${server.addr.port}`;
  const show = (base: string, calls: readonly Call[]) => page = pageOf(base, calls);
  return { origin, show, seen: promise, close: () => server.shutdown() };
}

/** What the page of `origin` sees of the API at `base`. */
async function visit(
  { origin, show, seen }: ReturnType<typeof openOrigin>,
  base: string,
  calls: readonly Call[],
): Promise<Seen> {
  show(base, calls);
  const profile = await Deno.makeTempDir({ prefix: "daybook_browser_" });
  const browser = new Deno.Command(chromium!, {
    args: [
      "--headless=new",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--no-first-run",
      `--user-data-dir=${profile}`,
      "--remote-debugging-port=0",
      `${origin}/`,
    ],
    stdout: "null",
    stderr: "null",
  }).spawn();
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    const late = new Promise<never>((_, reject) => {
      const error = new Error("the page has told nothing");
      timer = setTimeout(() => reject(error), ANSWER_MS_MAX);
    });
    return await Promise.race([seen, late]);
  } finally {
    clearTimeout(timer);
    browser.kill();
    await browser.status;
    await Deno.remove(profile, { recursive: true }).catch(() => {});
  }
}

/** First what every page may do, then what only pages of a named origin may do. */
function callsOf({ keys, operator_token, instance_id }: Credentials): Call[] {
  const bearer = { authorization: `Bearer ${keys.test.write}` };
  const json = { "content-type": "application/json" };
  const operator = { ...json, authorization: `Bearer ${operator_token}` };
  const events = { was_placed: { schema: true, handler: [] } };
  const spec = { agent_types: ["user"], aggregate_types: { order: { events } } };
  const event = { data: {}, metadata: { actor: { type: "user", id: "global" } } };
  const instance = `/api/instances/${instance_id}`;
  const order = "/order/5b3e1a7c-9d24-4f6a-8b1e-0c2d3e4f5a6b";
  const write = { path: `${order}/was_placed`, method: "POST", body: JSON.stringify(event) };
  return [
    {
      name: "deploy",
      path: `${instance}/spec?environment=test`,
      method: "POST",
      headers: operator,
      body: JSON.stringify({ spec }),
    },
    { name: "write", ...write, headers: { ...bearer, ...json } },
    { name: "read", path: order, method: "GET", headers: bearer },
    {
      name: "write once",
      ...write,
      headers: { ...bearer, ...json, "x-idempotency-key": "a" },
    },
    {
      name: "change the tier",
      path: instance,
      method: "PATCH",
      headers: operator,
      body: JSON.stringify({ tier: "unlimited" }),
    },
  ];
}

/** By the name of the call. */
function outcomesOf(seen: Seen): Record<string, string> {
  return Object.fromEntries(
    Object.entries(seen).map(([name, each]) => [
      name,
      each === "blocked" ? "blocked" : `${Math.floor(each.status / 100)}xx`,
    ]),
  );
}

Deno.test({
  name: "a page of a named origin may use all of the API, and one of another what every page may",
  ignore: chromium === undefined,
  // A browser may leave processes and sockets behind that end a moment later.
  sanitizeOps: false,
  async fn() {
    const named = openOrigin();
    const other = openOrigin();
    const server = await startServer({ env: { DAYBOOK_CORS_ORIGINS: named.origin } });
    try {
      const calls = callsOf(server.credentials);
      const all = await visit(named, server.baseUrls.test, calls);
      const some = await visit(other, server.baseUrls.test, calls);
      const open = { deploy: "2xx", write: "2xx", read: "2xx" };
      assert.deepEqual(outcomesOf(all), { ...open, "write once": "2xx", "change the tier": "2xx" });
      assert.deepEqual(outcomesOf(some), {
        ...open,
        "write once": "blocked",
        "change the tier": "blocked",
      });
      for (const { read } of [all, some]) {
        assert.ok(read !== undefined && read !== "blocked");
        for (const name of ["etag", "x-request-id"]) {
          assert.ok(read.headers.includes(name), `a page may read ${name}`);
        }
      }
    } finally {
      await server.remove();
      await Promise.all([named.close(), other.close()]);
    }
  },
});
