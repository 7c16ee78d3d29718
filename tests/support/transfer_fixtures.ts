/** Environment files in memory, and what a client can see of an environment. */

import assert from "node:assert/strict";
import { createAccess } from "../../src/features/access/access_service.ts";
import {
  exportEnvironment,
  type ExportRequest,
  type ExportTools,
  type Spool,
} from "../../src/features/transfer/export_environment.ts";
import {
  importEnvironment,
  type TransferOptions,
  type TransferOutcome,
  type TransferSummary,
} from "../../src/features/transfer/import_environment.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import type { WorkText } from "../../src/domain/transfer/work.ts";
import type { Host } from "../../src/host.ts";
import { wrapEngine } from "../../src/kv/calls.ts";
import { createApp } from "../../src/http/app.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { createService, type Service } from "../../src/features/service.ts";
import { readInstance } from "../../src/store/access/instances.ts";

/** Keeps its items in memory; the real spool keeps them in a file. */
function memorySpool(): Spool {
  let kept: WorkText[] = [];
  return {
    append: (items) => Promise.resolve(void kept.push(...items)),
    turn() {
      const before = kept;
      kept = [];
      return Promise.resolve(readBack(before));
    },
  };
}

async function* readBack(items: readonly WorkText[]): AsyncGenerator<WorkText> {
  for (const item of items) yield await Promise.resolve(item);
}

/** The engine of an export beside which something happens: after each of its transactions. */
export function besides(engine: Engine, happens: () => Promise<unknown>): Engine {
  return wrapEngine(engine, {
    snapshot: async (body, options) => {
      const value = await engine.snapshot(body, options);
      await happens();
      return value;
    },
  });
}

/** Exports the tenant and returns the file's text. */
export async function exportText(
  engine: Engine,
  host: Host,
  tenant: Tenant,
  change: Partial<ExportRequest> & Partial<ExportTools> = {},
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  const instance = await engine.snapshot((tx) => readInstance(tx, tenant.instanceId));
  assert.ok(instance !== undefined, "the instance exists");
  const request = { instance, environment: tenant.environment, withSigningKeys: false };
  await exportEnvironment(engine, host, { ...request, ...change }, {
    output: (bytes) => Promise.resolve(void (text += decoder.decode(bytes, { stream: true }))),
    spool: memorySpool(),
    ...change,
  });
  return text;
}

/** Yields the bytes in chunks of `size`. */
export async function* inChunks(bytes: Uint8Array, size = 1_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) {
    yield await Promise.resolve(bytes.subarray(at, at + size));
  }
}

export function importText(
  engine: Engine,
  host: Host,
  text: string,
  options: TransferOptions = {},
): Promise<TransferOutcome> {
  return importEnvironment(engine, host, inChunks(new TextEncoder().encode(text)), options);
}

export function imported(outcome: TransferOutcome): TransferSummary {
  assert.ok(outcome.ok, `refused: ${JSON.stringify(outcome)}`);
  return outcome.summary;
}

/** Returns the rule that refused an import. */
export function refusedRule(outcome: TransferOutcome): string {
  assert.ok(!outcome.ok, "it was imported");
  return outcome.fault.rule;
}

/** The application over a store, as the listener of one environment serves it. */
export interface OpenedService {
  readonly service: Service;
  /** Status, headers and body of an answer, as text. */
  ask(method: string, path: string, key: string, sent?: Sent): Promise<string>;
  close(): Promise<void>;
}

interface Sent {
  readonly body?: unknown;
  readonly idempotencyKey?: string;
}

const SECRET = new Uint8Array(32).fill(7);

export function openService(
  engine: Engine,
  host: Host,
  environment: Tenant["environment"],
): OpenedService {
  const access = createAccess(engine, host, { jwtSecret: SECRET });
  const service = createService(engine, host, access);
  const clientAddress = (peer: string) => peer;
  const source = { kind: "listener", environment } as const;
  const app = createApp(service, host, { headerPrefix: "SVC", environment: source, clientAddress });
  return {
    service,
    async ask(method, path, key, { body, idempotencyKey } = {}) {
      const headers = new Headers({ "authorization": `Bearer ${key}`, "x-request-id": "request" });
      if (body !== undefined) headers.set("content-type", "application/json");
      if (idempotencyKey !== undefined) headers.set("x-idempotency-key", idempotencyKey);
      const request = { method, headers, body: body === undefined ? null : JSON.stringify(body) };
      const response = await app.fetch(new Request(`http://127.0.0.1:8002${path}`, request));
      const sent = [...response.headers].map(([name, value]) => `${name}: ${value}`);
      return [response.status, ...sent, await response.text()].join("\n");
    },
    async close() {
      await service.close();
      await access.close();
    },
  };
}

/** Every key and value of a store, in hex. */
export async function dumpStore(engine: Engine): Promise<Map<string, string>> {
  const all = { begin: new Uint8Array(), end: new Uint8Array([0xfe]) };
  const pairs = await engine.snapshot((tx) => tx.getRange(all));
  return new Map(pairs.map(({ key, value }) => [key.toHex(), value.toHex()]));
}
