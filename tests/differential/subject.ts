/**
 * One engine under the whole product, driven by a trace. The real HTTP applications run in this
 * process over a host whose clock the trace moves and whose random bytes depend on the place in
 * the trace. So two subjects differ only in what the trace compares.
 */

import { createHash, createHmac } from "node:crypto";
import { type Access, createAccess } from "../../src/features/access/access_service.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import { createApp } from "../../src/http/app.ts";
import type { EnvironmentSource } from "../../src/http/call.ts";
import { type Engine, EngineUnavailable } from "../../src/kv/engine.ts";
import { createService, type Service } from "../../src/features/service.ts";
import { type FakeHost, fakeHost } from "../support/fake_host.ts";
import { type Interference, interfering } from "./interference.ts";
import {
  type Credential,
  expand,
  type Operation,
  type RequestOperation,
  type Sent,
  substitute,
} from "./operation.ts";
import { readRecords, type StoredRecord } from "./stored_records.ts";
import { readStreams, type StreamState } from "./stream_state.ts";

/** Where a subject keeps its data. Each `open` finds what the previous engine has left. */
export interface Store {
  open(): Promise<Engine>;
  /** Called when no engine is open any more. */
  dispose(): Promise<void>;
}

export interface SubjectOptions {
  readonly name: string;
  readonly store: Store;
  /** If false, restarts in the trace are skipped. Default: true. */
  readonly restarts?: boolean;
}

export interface Reply {
  readonly status: number;
  /** All of them, sorted by name. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;
}

export interface Subject {
  readonly name: string;
  /** The replies to one operation: none for background work and restarts. */
  execute(operation: Operation, number: number): Promise<Reply[]>;
  /** What the product logged during the last operation, for people. */
  lastLog(): string;
  /** Every stream of every tenant, sorted by name. */
  streams(): AsyncGenerator<StreamState>;
  /** The content of the store, pair by pair. */
  records(): AsyncGenerator<StoredRecord>;
  close(): Promise<void>;
}

const SECRET = new Uint8Array(32).fill(7);
const BASE_DOMAIN = "example.com";
const DRAIN_LIMIT = 100;
const DRAINS_MAX = 1_000;
const HOUR_SECONDS = 3_600;
/** Always due: a process remembers its last look, and a restart forgets it. */
const ANCHOR_INTERVAL_MS = 0;

interface Running {
  readonly engine: Engine;
  readonly access: Access;
  readonly service: Service;
  readonly apps: Map<string, ReturnType<typeof createApp>>;
}

export async function openSubject(options: SubjectOptions): Promise<Subject> {
  const { name, store, restarts = true } = options;
  const host = numberedHost();
  const values = new Map<string, string>();
  let interference: Interference | undefined;
  let running = await start();

  async function start(): Promise<Running> {
    const engine = interfering(await store.open(), () => {
      const planned = interference;
      interference = undefined;
      return planned;
    });
    const access = createAccess(engine, host, { jwtSecret: SECRET });
    const service = createService(engine, host, access);
    return { engine, access, service, apps: new Map() };
  }

  async function stop(): Promise<void> {
    await running.service.close();
    await running.access.close();
    await running.engine.close();
  }

  async function execute(operation: Operation, number: number): Promise<Reply[]> {
    host.timeMs += operation.advanceMs;
    host.beginOperation(number);
    if (operation.kind === "drain") await drain(running.service);
    if (operation.kind === "restart" && restarts) {
      await stop();
      running = await start();
    }
    return operation.kind === "request" ? await request(operation, number) : [];
  }

  async function request(operation: RequestOperation, number: number): Promise<Reply[]> {
    const { sent, fault, meanwhile, save = {} } = operation;
    if (fault !== undefined) interference = { kind: "fail", error: plannedError(fault) };
    const replies = meanwhile === undefined
      ? [await send(sent, `op-${number}`)]
      : await sendBoth(sent, meanwhile, number);
    interference = undefined;
    remember(replies[0]!, save, values);
    return replies;
  }

  /** The first request waits before its write until the second has been answered. */
  async function sendBoth(first: Sent, second: Sent, number: number): Promise<Reply[]> {
    const reached = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    interference = { kind: "wait", reached: reached.resolve, until: gate.promise };
    const firstReply = send(first, `op-${number}`);
    await Promise.race([reached.promise, firstReply]);
    interference = undefined;
    const secondReply = await send(second, `op-${number}-meanwhile`);
    gate.resolve();
    return [await firstReply, secondReply];
  }

  async function send(sent: Sent, requestId: string): Promise<Reply> {
    const app = appFor(sent);
    const response = await app.fetch(toRequest(sent, requestId, values, host.timeMs));
    const headers = [...response.headers].sort(([a], [b]) => a < b ? -1 : 1);
    return { status: response.status, headers, body: await response.bytes() };
  }

  function appFor({ environment = "test", host: hostName, headers }: Sent) {
    const source: EnvironmentSource = hostName === undefined
      ? { kind: "listener", environment }
      : { kind: "host", baseDomain: BASE_DOMAIN };
    const make = () =>
      createApp(running.service, host, {
        headerPrefix: "SVC",
        environment: source,
        clientAddress: (peer) => peer,
      });
    // An application draws the ids of many requests at once. A request that needs an id gets an
    // application of its own; otherwise the id would depend on when the service was opened.
    if (headers?.["x-request-id"] !== undefined) return make();
    const key = hostName === undefined ? environment : "host";
    const app = running.apps.get(key) ?? make();
    running.apps.set(key, app);
    return app;
  }

  return {
    name,
    execute,
    lastLog: () => JSON.stringify(host.lines, undefined, 2).replaceAll("\\n", "\n"),
    streams: () => readStreams(running.engine, running.access, running.service),
    records: () => readRecords(running.engine, running.access),
    async close() {
      await stop();
      await store.dispose();
    },
  };
}

/** Random bytes depend on the operation's number and the draws within it. */
function numberedHost(): FakeHost & { beginOperation(number: number): void } {
  const host = fakeHost();
  let number = -1;
  let draws = 0;
  return Object.assign(host, {
    beginOperation(next: number) {
      number = next;
      draws = 0;
      // Earlier log lines are of no interest here, and there are many.
      host.lines.length = 0;
    },
    randomBytes(length: number) {
      const bytes = new Uint8Array(length);
      for (let at = 0; at < length; at += 32) {
        const block = createHash("sha256").update(`${number}:${draws++}`).digest();
        bytes.set(block.subarray(0, Math.min(32, length - at)), at);
      }
      return bytes;
    },
  });
}

function plannedError(fault: "unavailable" | "broken"): Error {
  if (fault === "unavailable") return new EngineUnavailable("The store is away (planned)");
  return new Error("Something is broken (planned)");
}

async function drain({ background, erasure, audit }: Service): Promise<void> {
  for (let round = 0; round < DRAINS_MAX; round++) {
    const fired = await background.drainTimers(DRAIN_LIMIT);
    const erased = await erasure.eraseDue(DRAIN_LIMIT);
    const rebuilt = await background.rebuildSnapshots(DRAIN_LIMIT);
    const swept = await background.sweep(DRAIN_LIMIT);
    const anchored = await audit.makeDueAnchors(ANCHOR_INTERVAL_MS);
    if (fired + erased + rebuilt + swept + anchored === 0) return;
  }
  throw new Error(`background work did not end in ${DRAINS_MAX} rounds`);
}

function remember(
  { body }: Reply,
  save: Readonly<Record<string, string>>,
  values: Map<string, string>,
): void {
  if (Object.keys(save).length === 0) return;
  const answer = JSON.parse(new TextDecoder().decode(body));
  for (const [name, place] of Object.entries(save)) {
    // deno-lint-ignore no-explicit-any -- an answer of any shape
    const value = place.split(".").reduce<any>((inner, key) => inner?.[key], answer);
    if (typeof value === "string") values.set(name, value);
  }
}

function toRequest(
  sent: Sent,
  requestId: string,
  values: ReadonlyMap<string, string>,
  nowMs: number,
): Request {
  const { host, as, method, headers = {}, json, text } = sent;
  const body = json === undefined ? text : JSON.stringify(expand(json));
  const all = new Headers({ "x-request-id": requestId });
  if (body !== undefined) all.set("content-type", "application/json");
  const authorization = authorizationOf(as, values, nowMs);
  if (authorization !== undefined) all.set("authorization", authorization);
  for (const [name, value] of Object.entries(headers)) {
    if (value === null) all.delete(name);
    else all.set(name, substitute(value, values));
  }
  const authority = host === undefined ? "127.0.0.1:8002" : `${host}.${BASE_DOMAIN}`;
  const url = `http://${authority}${substitute(sent.path, values)}`;
  return new Request(url, { method, headers: all, body: body && substitute(body, values) });
}

function authorizationOf(
  as: Credential,
  values: ReadonlyMap<string, string>,
  nowMs: number,
): string | undefined {
  if (as === "none") return undefined;
  if (typeof as === "object") return substitute(as.header, values);
  const nowSeconds = Math.floor(nowMs / 1000);
  const claims: JsonObject = { sub: "ops@example.com", role: "operator" };
  claims.exp = nowSeconds + HOUR_SECONDS;
  if (as === "operator_of_bakery") claims.instances = [values.get("bakery_id") ?? ""];
  if (as === "operator_expired") claims.exp = nowSeconds - 1;
  if (as === "operator_without_role") claims.role = "visitor";
  const secret = as === "operator_forged" ? SECRET.map((byte) => byte + 1) : SECRET;
  return `Bearer ${signToken(claims, secret)}`;
}

/** A JWT by RFC 7519 and RFC 7515. */
function signToken(claims: JsonObject, secret: Uint8Array): string {
  const encoder = new TextEncoder();
  const part = (value: JsonObject) =>
    encoder.encode(JSON.stringify(value)).toBase64({ alphabet: "base64url", omitPadding: true });
  const signed = `${part({ alg: "HS256" })}.${part(claims)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}
