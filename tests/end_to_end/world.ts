/**
 * The whole product in one process: the real HTTP application over a real service. It runs on a
 * temporary store, with one instance `shop` that has keys in each environment. Every answer
 * that a test gets through it is also checked against the documented rules for all answers.
 */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { type Access, createAccess } from "../../src/features/access/access_service.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import { type Environment, ENVIRONMENTS, type Tenant } from "../../src/domain/tenant.ts";
import { createApp } from "../../src/http/app.ts";
import type { Connection, EnvironmentSource } from "../../src/http/call.ts";
import { type AddressNet, createAddressNet } from "../../src/http/middleware/address_net.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { resolveTenant } from "../../src/features/access/instances.ts";
import type { WebhookSettings } from "../../src/domain/listener/webhook.ts";
import { createService, type Service } from "../../src/features/service.ts";
import { accepted, anyOperator, makeInstance, makeKey } from "../support/access_fixtures.ts";
import { type FakeHost, fakeHost } from "../support/fake_host.ts";
import { type StoreContent, temporaryEngine } from "../support/temporary_engine.ts";
import { worldSpec } from "./world_spec.ts";

export interface WorldOptions {
  /** Deployed to every environment, by default the one of `world_spec.ts`; null deploys none. */
  readonly spec?: JsonObject | null;
  /** Wraps the engine, for example with faults. */
  readonly wrap?: (engine: Engine) => Engine;
  /** Raw Ed25519 key of 32 bytes for EdDSA tokens. */
  readonly jwtPublicKey?: Uint8Array;
  /** Default: nothing is delivered to listeners. */
  readonly webhooks?: (host: FakeHost) => WebhookSettings;
  /** Requests per minute of one address. Default: the documented limit. */
  readonly ipLimit?: number;
}

export interface SendOptions {
  /** The listener that gets the request. Default: test. */
  readonly environment?: Environment;
  /** Set instead of a listener: the host name decides, below the base domain `example.com`. */
  readonly host?: string;
  /** Default: the write key, or under `/api/` the operator's token. null: none. */
  readonly token?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** The other end of the connection. Default: there is none, and no address is counted. */
  readonly peer?: string;
  /** A text, bytes or a stream are sent as they are, anything else as JSON. */
  readonly body?: unknown;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // deno-lint-ignore no-explicit-any -- a test says what it expects of the body
  readonly body: any;
}

export interface World {
  readonly host: FakeHost;
  readonly service: Service;
  readonly access: Access;
  readonly engine: Engine;
  readonly instanceId: string;
  readonly tenants: Readonly<Record<Environment, Tenant>>;
  readonly keys: Readonly<Record<Environment, { readonly read: string; readonly write: string }>>;
  /** A token for everything. */
  readonly operator: string;
  /** The folder with the SQL copies of projections. */
  readonly copiesFolder: string;
  /** Sends a request and checks its answer against the documented rules for all answers. */
  send(method: string, path: string, options?: SendOptions): Promise<Answer>;
}

export const SECRET = new Uint8Array(32).fill(7);
/** The second at which every world begins: 2026-01-01T00:00:00Z. */
export const START = 1_767_225_600;

/** Answers whose format external standards define. */
const SPEAKS_FOR_ITSELF: ReadonlySet<string> = new Set(["/metrics", "/openapi.json"]);

type Inhabitants = Pick<World, "instanceId" | "tenants" | "keys">;

/** Runs `body` in a new world and removes it afterwards. */
export async function withWorld(
  body: (world: World) => Promise<void>,
  options: WorldOptions = {},
): Promise<void> {
  const begin = options.spec === undefined ? "with_spec" : "without_spec";
  const { content, ...inhabitants } = await (templates[begin] ??= createTemplate(begin));
  const { engine: inner, dispose } = await temporaryEngine(content);
  const engine = options.wrap?.(inner) ?? inner;
  const host = fakeHost();
  const { spec, jwtPublicKey } = options;
  const access = createAccess(engine, host, { jwtSecret: SECRET, jwtPublicKey });
  const webhooks = options.webhooks?.(host);
  const folder = await Deno.makeTempDir({ prefix: "daybook-views-" });
  const sql = { runners: 2, folder: `${folder}/views` };
  const backup = { store: "sqlite", readPrivateFiles: () => Promise.resolve([]) };
  const service = createService(engine, host, access, { webhooks, sql, backup });
  try {
    if (spec) await deployEverywhere(service, inhabitants.tenants, spec);
    const operator = signToken(operatorClaims());
    const send = sender(
      service,
      host,
      createAddressNet(clientAddress, options.ipLimit),
      (environment, isOperators) => isOperators ? operator : inhabitants.keys[environment].write,
    );
    const copiesFolder = sql.folder;
    await body({ host, service, access, engine, operator, send, copiesFolder, ...inhabitants });
  } finally {
    await service.close();
    await Deno.remove(folder, { recursive: true });
    await access.close();
    await dispose();
  }
}

/** How a world begins: a store with the instance, its keys and usually the spec. */
interface Template extends Inhabitants {
  readonly content: StoreContent;
}

type Beginning = "with_spec" | "without_spec";

const templates: Partial<Record<Beginning, Promise<Template>>> = {};

async function createTemplate(begin: Beginning): Promise<Template> {
  const { engine, save, dispose } = await temporaryEngine();
  try {
    // A different seed from that of the worlds, so that none of them draws an id that is taken.
    const host = fakeHost("template");
    const { id } = await makeInstance(engine, host, "shop");
    const tenants = {} as Record<Environment, Tenant>;
    const keys = {} as Record<Environment, { read: string; write: string }>;
    for (const environment of ENVIRONMENTS) {
      const tenant = accepted(await resolveTenant(engine, anyOperator, id, environment));
      tenants[environment] = tenant;
      const read = (await makeKey(engine, host, tenant, "read")).key;
      const write = (await makeKey(engine, host, tenant, "write")).key;
      keys[environment] = { read, write };
    }
    if (begin === "with_spec") {
      const access = createAccess(engine, host, { jwtSecret: SECRET });
      const service = createService(engine, host, access);
      await deployEverywhere(service, tenants, worldSpec);
      await service.close();
      await access.close();
    }
    return { content: await save(), instanceId: id, tenants, keys };
  } finally {
    await dispose();
  }
}

async function deployEverywhere(service: Service, tenants: World["tenants"], spec: JsonObject) {
  for (const tenant of Object.values(tenants)) {
    accepted(await service.specs.deploySpec(tenant, { spec, force: false, dryRun: false }));
  }
}

type Credential = (environment: Environment, isOperators: boolean) => string;

function clientAddress(peer: string): string {
  return peer;
}

function sender(
  service: Service,
  host: FakeHost,
  addressNet: AddressNet,
  credential: Credential,
): World["send"] {
  const apps = new Map<string, ReturnType<typeof createApp>>();
  const appOf = (name: string, environment: EnvironmentSource) => {
    const known = apps.get(name) ??
      createApp(service, host, { headerPrefix: "SVC", environment, clientAddress, addressNet });
    apps.set(name, known);
    return known;
  };
  return async (method, path, options = {}) => {
    const { environment = "test", host: hostName } = options;
    const app = hostName === undefined
      ? appOf(environment, { kind: "listener", environment })
      : appOf("host", { kind: "host", baseDomain: "example.com" });
    const { token = credential(environment, path.startsWith("/api/")) } = options;
    const url = `http://${hostName ?? "127.0.0.1:8002"}${path}`;
    const response = await app.fetch(makeRequest(method, url, token, options), from(options));
    const text = await response.text();
    const answer = { status: response.status, headers: response.headers, text };
    const isJson = response.headers.get("content-type") === "application/json" && text !== "";
    const body = isJson ? JSON.parse(text) : undefined;
    if (!SPEAKS_FOR_ITSELF.has(path) || response.status !== 200) {
      checkEveryAnswer(method, { ...answer, body });
    }
    return { ...answer, body };
  };
}

function from({ peer: hostname }: SendOptions): Connection {
  if (hostname === undefined) return undefined;
  return { remoteAddr: { transport: "tcp", hostname, port: 50_000 } };
}

function makeRequest(
  method: string,
  url: string,
  token: string | null,
  { headers, body }: SendOptions,
): Request {
  const all = new Headers();
  if (token !== null) all.set("authorization", `Bearer ${token}`);
  if (body !== undefined) all.set("content-type", "application/json");
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (value === "") all.delete(name);
    // An empty idempotency key is a case of its own.
    if (value !== "" || name === "x-idempotency-key") all.set(name, value);
  }
  const isRaw = typeof body === "string" || body instanceof Uint8Array ||
    body instanceof ReadableStream || body === undefined;
  return new Request(url, {
    method,
    headers: all,
    body: isRaw ? body as BodyInit | undefined : JSON.stringify(body),
  });
}

/** The documented rules for all answers: `ok`, the origin header, the request id, error ids. */
function checkEveryAnswer(method: string, { status, headers, text, body }: Answer): void {
  assert.equal(headers.get("access-control-allow-origin"), "*", "every answer has CORS");
  assert.match(headers.get("x-request-id") ?? "", /^[A-Za-z0-9_-]{1,64}$/, "request id");
  assert.equal(headers.has("x-error-id"), status >= 500, "exactly the 5xx have an error id");
  if (method === "OPTIONS" || method === "HEAD" || status === 304 || status === 204) {
    assert.equal(text, "");
    return;
  }
  const type = headers.get("content-type");
  // A successful export or backup is not JSON; its refusals are.
  if (status === 200 && /^(?:text\/csv|application\/octet-stream)/.test(type ?? "")) return;
  assert.equal(type, "application/json", text);
  assert.equal(body.ok, status < 400, text);
  assert.ok(text.startsWith('{"ok":'), "ok comes first");
  const isModules = body.error_type === "handler_error";
  if (status >= 400) assert.equal(typeof body.error, isModules ? "object" : "string", text);
  if (status === 401) assert.equal(headers.get("www-authenticate"), "Bearer");
  assert.ok(!/\bat [^"]*:\d+|\/work|\/tmp|\.ts\b/.test(text) || status < 500, "no stack, no path");
}

export function operatorClaims(change: JsonObject = {}): JsonObject {
  return { sub: "ops@example.com", role: "operator", exp: START + 3_600, ...change };
}

/**
 * A JWT by RFC 7519 and RFC 7515, made here so that the product's own signer is not its judge.
 */
export function signToken(claims: JsonObject, header: JsonObject = { alg: "HS256" }): string {
  const part = (value: JsonObject) => bytesToBase64Url(JSON.stringify(value));
  const signed = `${part(header)}.${part(claims)}`;
  return `${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}`;
}

function bytesToBase64Url(text: string): string {
  return new TextEncoder().encode(text).toBase64({ alphabet: "base64url", omitPadding: true });
}
