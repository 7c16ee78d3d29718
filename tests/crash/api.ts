/** The HTTP calls of the crash clients to one environment of one server. */

import type { ServerProcess } from "../support/server_process.ts";
import type { Operation } from "./journal.ts";
import type { ListedEntry } from "./stream_model.ts";

const ANSWER_TIMEOUT_MS = 10_000;
export const ACTOR = { type: "person", id: "5b0e8f6c-3d1a-4c2b-9f7e-0a1b2c3d4e5f" };

export interface WriteReply {
  readonly status: number;
  readonly headers: Headers;
  readonly replayed: boolean;
  readonly body: Record<string, unknown>;
  /** The ids of each target's events; empty unless the status is 201. */
  readonly streamIds: readonly (readonly string[])[];
}

export interface AggregateReply {
  readonly data: Record<string, unknown>;
  readonly length: number;
}

export interface Api {
  /** Rejects if the connection breaks: then the outcome is unknown. */
  write(operation: Operation): Promise<WriteReply>;
  /** Every entry after `start`, read page by page. */
  events(key: string, start?: string): Promise<ListedEntry[]>;
  length(key: string): Promise<number>;
  aggregate(key: string, synchronous: boolean): Promise<AggregateReply>;
  /** Every id of a type, read page by page. */
  list(aggregateType: string): Promise<string[]>;
  deploySpec(spec: unknown): Promise<void>;
  /** The body of a 200; throws on any other status. */
  get(path: string): Promise<Record<string, unknown>>;
  /** Returns the status. */
  remove(path: string): Promise<number>;
  close(): void;
}

/** Uses the keys in the server's data folder, or those of another node on the same store. */
export function connectApi(server: Pick<ServerProcess, "baseUrls" | "credentials">): Api {
  const base = server.baseUrls.test;
  const { keys, instance_id, operator_token } = server.credentials;
  // Each life of the server gets its own client, so that no connection outlives it.
  const client = Deno.createHttpClient({});

  async function call(path: string, init: RequestInit, token: string): Promise<Response> {
    const headers = { authorization: `Bearer ${token}`, ...init.headers };
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    return await fetch(base + path, { ...init, headers, signal, client });
  }
  async function read(path: string): Promise<Record<string, unknown>> {
    const reply = await call(path, {}, keys.test.read);
    const body = await reply.json();
    if (reply.status !== 200) {
      throw new Error(`GET ${path}: ${reply.status} ${JSON.stringify(body)}`);
    }
    return body;
  }

  return {
    async write(operation) {
      const { path, body } = requestOf(operation);
      const headers: Record<string, string> = { "content-type": "application/json" };
      if (operation.idempotencyKey !== undefined) {
        headers["x-idempotency-key"] = operation.idempotencyKey;
      }
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      return await writeReplyOf(operation, await call(path, init, keys.test.write));
    },
    async events(key, start) {
      const entries: ListedEntry[] = [];
      for (let cursor = start, more = true; more;) {
        const after = cursor === undefined ? "" : `&start=${encodeURIComponent(cursor)}`;
        const page = await read(`/${pathOf(key)}/events?raw=true&count=5000${after}`);
        entries.push(...page.data as ListedEntry[]);
        cursor = page.next_start as string | undefined;
        more = page.truncated === true;
      }
      return entries;
    },
    length: async (key) => (await read(`/${pathOf(key)}/length`)).length as number,
    async aggregate(key, synchronous) {
      const body = await read(`/${pathOf(key)}${synchronous ? "?synchronous=true" : ""}`);
      const { length } = body.metadata as { length: number };
      return { data: body.data as Record<string, unknown>, length };
    },
    async list(aggregateType) {
      const ids: string[] = [];
      for (let start: string | undefined, more = true; more;) {
        const after = start === undefined ? "" : `&start=${encodeURIComponent(start)}`;
        const page = await read(`/${aggregateType}?limit=200${after}`);
        ids.push(...page.data as string[]);
        start = page.next_start as string | undefined;
        more = page.truncated === true;
      }
      return ids;
    },
    async deploySpec(spec) {
      const reply = await call(`/api/instances/${instance_id}/spec`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ environment: "test", spec }),
      }, operator_token);
      const text = await reply.text();
      if (!reply.ok) throw new Error(`deploying the spec: ${reply.status} ${text}`);
    },
    get: read,
    async remove(path) {
      const reply = await call(path, { method: "DELETE" }, keys.test.write);
      await reply.body?.cancel();
      return reply.status;
    },
    close: () => client.close(),
  };
}

async function writeReplyOf(operation: Operation, reply: Response): Promise<WriteReply> {
  const body = await reply.json();
  const replayed = reply.headers.get("x-idempotency-replayed") === "true";
  const streamIds = reply.status !== 201
    ? []
    : operation.form === "single"
    ? [[body.stream_id]]
    : operation.form === "batch"
    ? [body.stream_ids]
    : operation.targets.map((target) => body.stream_ids[`${target.aggregateType}:${target.id}`]);
  return { status: reply.status, headers: reply.headers, replayed, body, streamIds };
}

function requestOf(operation: Operation): { path: string; body: unknown } {
  const first = operation.targets[0]!;
  if (operation.form === "atomic") {
    const targets = operation.targets.map((target) => ({
      aggregate_type: target.aggregateType,
      id: target.id,
      events: target.events,
      previous_length: target.previousLength,
    }));
    return { path: "/_atomic-write", body: { targets, metadata: { actor: ACTOR } } };
  }
  const metadata = {
    actor: ACTOR,
    previous_length: first.previousLength,
    skip_occ: operation.skipOcc,
  };
  const stream = `/${first.aggregateType}/${first.id}`;
  if (operation.form === "batch") return { path: stream, body: { events: first.events, metadata } };
  const event = first.events[0]!;
  return { path: `${stream}/${event.type}`, body: { data: event.data, metadata } };
}

function pathOf(key: string): string {
  return key.replace(":", "/");
}
