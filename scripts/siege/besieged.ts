/**
 * The server under siege: a real process on its own data folder, with two instances on it.
 *
 * One instance belongs to the attacker, the other to the neighbour. The system limits the
 * memory of the server, so that no attack takes the machine down.
 */

import { type ClusterProcess, startCluster } from "../../tests/support/cluster_process.ts";
import { type ServerProcess, startServer } from "../../tests/support/server_process.ts";
import { framed, handler, packed } from "../../tests/support/wasm/build_module.ts";
import type { HostileRequest, Json, Step } from "./attack.ts";
import { type Aim, NEIGHBOUR, neighbourId, ORDINARY_PROBES, type ProbeName } from "./probes.ts";
import { descendants, endOrphans } from "./process_memory.ts";
import { type Answers, pause, portFor, sendWaves, type Target } from "./send.ts";

export type EngineName = "sqlite" | "foundationdb";

export interface Besieged {
  readonly server: ServerProcess;
  readonly target: Target;
  readonly aim: Aim;
  /**
   * Kills the server with SIGKILL and starts it on the same data. Returns how many of its
   * children have outlived it.
   * @throws {Error} if the server is not ready in time.
   */
  restart(): Promise<number>;
  /** Deploys a spec to the attacker's instance, and takes the steps. */
  prepare(spec: Json | undefined, steps: Iterable<Step> | AsyncIterable<Step>): Promise<void>;
  remove(): Promise<void>;
}

export interface SiegeOptions {
  readonly engine: EngineName;
  readonly settings?: Readonly<Record<string, string>>;
  readonly watch: readonly ProbeName[];
  readonly receiverPort: number;
  /** Another checkout of the product, whose server is besieged instead of this one's. */
  readonly folder?: string;
}

const DATA_BYTES_MAX = 10 * 2 ** 30;
const READY_MS_MAX = 60_000;
const WAIT_MS_MAX = 60_000;
/** How long a child may take to notice that its server is gone. */
const ORPHAN_MS = 500;
const ENVIRONMENT = "test";

export async function besiege(options: SiegeOptions): Promise<Besieged> {
  const cluster = options.engine === "foundationdb"
    // On "memory" a cluster is full, and slows down, after a gigabyte.
    ? await startCluster({ storage: "ssd", wrapper: ownPriority() })
    : undefined;
  const dataDir = await Deno.makeTempDir({ prefix: "siege_" });
  const secret = crypto.getRandomValues(new Uint8Array(32)).toHex();
  const start = () => startServer(serverOptions(options, { dataDir, secret, cluster }));
  const remove = async (server: ServerProcess) => {
    const children = descendants(server.pid);
    await server.remove();
    await pause(ORPHAN_MS);
    endOrphans(children);
    await cluster?.stop();
    await Deno.remove(dataDir, { recursive: true });
  };
  let server = await start();
  let parties: Parties;
  try {
    parties = await settle(server, secret, options);
  } catch (error) {
    await remove(server);
    throw error;
  }
  const port = () => Number(new URL(server.baseUrls[ENVIRONMENT]).port);
  return {
    get server() {
      return server;
    },
    get target() {
      return { port: port(), ...parties.attacker };
    },
    get aim() {
      return { port: port(), ...parties.neighbour };
    },
    async restart() {
      const children = descendants(server.pid);
      await server.kill();
      await pause(ORPHAN_MS);
      const orphans = endOrphans(children);
      server = await start();
      return orphans;
    },
    async prepare(spec, steps) {
      const target = { port: port(), ...parties.attacker };
      if (spec !== undefined) await deploy(target, spec);
      for await (const step of steps) await take(target, step);
    },
    remove: () => remove(server),
  };
}

interface Place {
  readonly dataDir: string;
  /** With it operator tokens are made, also where the store is on a cluster. */
  readonly secret: string;
  readonly cluster: ClusterProcess | undefined;
}

function serverOptions(
  { engine, settings, folder }: SiegeOptions,
  { dataDir, secret, cluster }: Place,
) {
  return {
    dataDir,
    readyTimeoutMs: READY_MS_MAX,
    wrapper: wrapperFor(folder),
    env: {
      DAYBOOK_STORE: engine,
      DAYBOOK_JWT_SECRET: secret,
      // Trust the proxy header, so that each side can have its own address on one machine.
      DAYBOOK_TRUSTED_PROXIES: "127.0.0.1/32",
      DAYBOOK_ALLOW_PRIVATE_WEBHOOKS: "true",
      ...(cluster === undefined ? {} : { FDB_CLUSTER_FILE: cluster.clusterFile }),
      ...settings,
    },
  };
}

/**
 * If permitted, the server and its cluster get the processor before the attackers, because real
 * attackers are on other machines.
 */
function ownPriority(): string[] {
  return Deno.uid() === 0 ? ["nice", "-n", "-10"] : [];
}

/** Limits the memory through the system. */
function wrapperFor(folder: string | undefined): string[] {
  return [
    ...(folder === undefined ? [] : ["sh", "-c", `cd '${folder}' && exec "$@"`, "sh"]),
    ...ownPriority(),
    "prlimit",
    `--data=${DATA_BYTES_MAX}`,
  ];
}

interface Parties {
  readonly attacker: Omit<Target, "port">;
  readonly neighbour: Omit<Aim, "port">;
}

/** Creates both instances by the operator's calls, and everything the neighbour has. */
async function settle(
  server: ServerProcess,
  secret: string,
  options: SiegeOptions,
): Promise<Parties> {
  const base = server.baseUrls[ENVIRONMENT];
  const operator = server.credentials.operator_token;
  const attacker = await makeInstance(base, operator, "attacker");
  const neighbour = await makeInstance(base, operator, "neighbour");
  const port = Number(new URL(base).port);
  const home: Target = {
    port,
    instance: neighbour.instance,
    credentials: { ...neighbour.keys, operator, nobody: undefined },
  };
  for (const step of await neighbourSteps(options)) await take(home, step);
  const token = await tokenFor(secret, attacker.instance);
  return {
    attacker: {
      instance: attacker.instance,
      credentials: { ...attacker.keys, operator: token, nobody: undefined },
    },
    neighbour: {
      instance: neighbour.instance,
      key: neighbour.keys.write,
      operatorToken: operator,
      probes: [...ORDINARY_PROBES, ...options.watch],
    },
  };
}

async function makeInstance(base: string, operator: string, slug: string) {
  const ask = async (path: string, body: Json) => {
    const headers = { authorization: `Bearer ${operator}`, "content-type": "application/json" };
    const options = { method: "POST", headers, body: JSON.stringify(body) };
    const reply = await fetch(`${base}${path}`, options);
    const text = await reply.text();
    if (!reply.ok) throw new Error(`POST ${path}: ${reply.status} ${text}`);
    return JSON.parse(text);
  };
  const { id } = await ask("/api/instances", { slug });
  const key = async (scope: string, environment = ENVIRONMENT): Promise<string> =>
    (await ask(`/api/instances/${id}/keys`, { name: scope, scope, environment })).key;
  const keys = {
    read: await key("read"),
    write: await key("write"),
    staging: await key("write", "staging"),
  };
  return { instance: id as string, keys };
}

/** A token for the attacker's operator, which may touch its own instance and no other. */
async function tokenFor(secret: string, instance: string): Promise<string> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "main.ts", "token", "--instance", instance],
    env: { DAYBOOK_JWT_SECRET: secret, NO_COLOR: "1" },
  });
  const { success, stdout, stderr } = await command.output();
  if (!success) throw new Error(`no token: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout).trim();
}

export async function deploy(target: Target, spec: Json): Promise<void> {
  await take(target, {
    path: "/api/instances/{instance}/spec?environment=test",
    body: JSON.stringify({ spec }),
    as: "operator",
  });
}

/**
 * Takes one step of a preparation.
 * @throws {Error} if it is refused, or its condition is not met in time.
 */
export async function take(target: Target, step: Step): Promise<void> {
  if ("waitFor" in step) {
    const endsMs = performance.now() + WAIT_MS_MAX;
    while (!(await askOnce(target, step.waitFor)).text.includes(step.holds)) {
      if (performance.now() > endsMs) throw new Error(`never there: ${step.waitFor.path}`);
      await pause(100);
    }
    return;
  }
  const { status, text } = await askOnce(target, step);
  if (status >= 200 && status < 300) return;
  throw new Error(`the preparation was refused: ${step.path}: ${status} ${text.slice(0, 500)}`);
}

export async function askOnce(
  target: Target,
  request: HostileRequest,
  signal?: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  const credential = target.credentials[request.as ?? "write"];
  const path = request.path.replaceAll("{instance}", target.instance);
  const type = request.contentType ?? "application/json";
  const port = portFor(request.as ?? "write", target);
  const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: request.method ?? (request.body === undefined ? "GET" : "POST"),
    body: request.body,
    signal,
    headers: {
      "x-forwarded-for": request.address ?? "10.0.0.1",
      ...(request.body === undefined ? {} : { "content-type": type }),
      ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
      ...request.headers,
    },
  });
  return { status: reply.status, text: await reply.text() };
}

/**
 * Sends the requests one after the other, each to its end; for data that must exist before an
 * attack begins.
 */
export async function sendAll(
  target: Target,
  requests: Iterable<HostileRequest>,
): Promise<Answers> {
  const answers: Answers = new Map();
  const never = new AbortController().signal;
  for (const request of requests) {
    await sendWaves([{ request, clients: 1, times: 1 }], target, never, answers);
  }
  return answers;
}

async function neighbourSteps({ watch, receiverPort }: SiegeOptions): Promise<readonly Step[]> {
  const type = { schema: true, handler: { increment: { target: "n" } } };
  const listener = {
    url: `http://127.0.0.1:${receiverPort}/`,
    secret: "a secret of sixteen",
    events: ["shop.was_told"],
  };
  const machine = { machine: { events: { was_run: { schema: true, handler: { wasm: "idle" } } } } };
  const spec = {
    agent_types: ["user"],
    aggregate_types: {
      shop: { events: { was_sold: type, was_told: { schema: true, handler: [] } } },
      ...(watch.includes("module") ? machine : {}),
    },
    ...(watch.includes("delivery") ? { modules: { listeners: { home: listener } } } : {}),
  };
  const actor = { type: "user", id: "global" };
  const write = JSON.stringify({ data: {}, metadata: { actor } });
  const ids = Array.from({ length: NEIGHBOUR.aggregates }, (_, number) => neighbourId(number));
  return [
    ...(watch.includes("module") ? [await idleModule()] : []),
    {
      path: "/api/instances/{instance}/spec?environment=test",
      body: JSON.stringify({ spec }),
      as: "operator",
    },
    ...ids.map((id) => ({ path: `/shop/${id}/was_sold`, body: write })),
    ...(watch.includes("query") ? projectionSteps() : []),
    ...(watch.includes("login") ? [accountStep()] : []),
  ];
}

function accountStep(): Step {
  const { email, password } = NEIGHBOUR;
  return { path: "/api/users", body: JSON.stringify({ email, password }), as: "operator" };
}

function projectionSteps(): readonly Step[] {
  const projection = {
    name: "shops",
    for_each: "shop",
    sources: { shop: "$key" },
    select: { n: { path: "$.shop.n", type: "integer" } },
  };
  const path = "/api/instances/{instance}/projections?environment=test";
  return [
    { path, body: JSON.stringify({ projection }), as: "operator" },
    { waitFor: { path, as: "operator" }, holds: '"state":"ready"' },
  ];
}

async function idleModule(): Promise<Step> {
  const state = new TextEncoder().encode('{"state":{}}');
  const data = `(data (i32.const 16) "${String.raw`{\22state\22:{}}`}")`;
  const module = await framed(`${data} ${handler(`(i64.const ${packed(16, state.length)})`)}`);
  return blobUpload("idle", module);
}

/** An upload of a module to the sender's test environment. */
export function blobUpload(name: string, module: Uint8Array<ArrayBuffer>): HostileRequest {
  const boundary = "siege";
  const encoder = new TextEncoder();
  const part = (disposition: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`;
  const before = encoder.encode(
    `${part('name="name"')}\r\n${name}\r\n` +
      `${part('name="file"; filename="a.wasm"')}Content-Type: application/wasm\r\n\r\n`,
  );
  const after = encoder.encode(`\r\n--${boundary}--\r\n`);
  const body = new Uint8Array(before.length + module.length + after.length);
  body.set(before);
  body.set(module, before.length);
  body.set(after, before.length + module.length);
  return {
    path: "/_admin/blobs?environment=test&instance_id={instance}",
    body,
    contentType: `multipart/form-data; boundary=${boundary}`,
    as: "operator",
  };
}
