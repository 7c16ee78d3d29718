/**
 * Hostile HTTP against a real server, repeatable from a seed. The server must stay up and
 * answer or close within five seconds, never with a 5xx. It must never reveal its internals,
 * and it must store all of a request or nothing of it.
 */

import { createHash } from "node:crypto";
import { type Api, connectApi } from "../crash/api.ts";
import { createRandom } from "../crash/random.ts";
import { exampleSpec } from "../support/example_spec.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { type FuzzCase, makeCase } from "./cases.ts";
import { ANSWER_MS, type Exchange, exchange } from "./connection.ts";

export interface FuzzOptions {
  readonly seed: number;
  readonly cases: number;
}

export interface FuzzReport {
  /** One line each, with the number of the case; empty if every invariant held. */
  readonly faults: readonly string[];
  /** How often each status came; `none` if the server closed without an answer. */
  readonly statuses: ReadonlyMap<string, number>;
  readonly events: number;
  readonly slowestMs: number;
}

interface Run {
  readonly server: ServerProcess;
  readonly faults: string[];
  readonly statuses: Map<string, number>;
  readonly groups: { readonly fuzzCase: FuzzCase; readonly index: number; status?: number }[];
  slowestMs: number;
}

const LANES = 8;
const TYPES = ["order", "customer", "inventory"];
/** Stack frames, source files and the data folder belong only in the log. */
const INSIDES = /\.ts:[0-9]+|\n {4}at |file:\/\/|ext:deno|daybook\.sqlite/;
const SHOWN_CHARACTERS = 300;

/** Starts a server, sends `cases` requests over eight connections at a time, and checks. */
export async function runFuzz({ seed, cases }: FuzzOptions): Promise<FuzzReport> {
  const server = await startServer();
  const run: Run = { server, faults: [], statuses: new Map(), groups: [], slowestMs: 0 };
  const api = connectApi(server);
  try {
    await api.deploySpec(exampleSpec);
    let next = 0;
    await Promise.all(Array.from({ length: LANES }, async () => {
      while (next < cases && server.howItEnded() === undefined) await runCase(run, seed, next++);
    }));
    const events = server.howItEnded() === undefined ? await checkStore(run, api) : 0;
    await checkEnd(run);
    return { faults: run.faults, statuses: run.statuses, events, slowestMs: run.slowestMs };
  } finally {
    api.close();
    await server.remove();
  }
}

async function runCase(run: Run, seed: number, index: number): Promise<void> {
  const { credentials: { keys, operator_token, instance_id }, baseUrls } = run.server;
  const fuzzCase = makeCase(createRandom(seed).fork(index), index, {
    writeKey: keys.test.write,
    operatorToken: operator_token,
    instanceId: instance_id,
  });
  const startedAt = performance.now();
  const outcome = await exchange(Number(new URL(baseUrls.test).port), fuzzCase);
  run.slowestMs = Math.max(run.slowestMs, performance.now() - startedAt);
  for (const fault of exchangeFaults(outcome, run.server.dataDir)) {
    run.faults.push(`case ${index}: ${fault}; sent ${shorten(fuzzCase.bytes)}`);
  }
  for (const status of outcome.statuses.length === 0 ? ["none"] : outcome.statuses.map(String)) {
    run.statuses.set(status, (run.statuses.get(status) ?? 0) + 1);
  }
  if (fuzzCase.group !== undefined) {
    run.groups.push({ fuzzCase, index, status: outcome.statuses.at(-1) });
  }
}

function exchangeFaults({ statuses, text, hung }: Exchange, dataDir: string): string[] {
  const faults: string[] = [];
  const failed = statuses.find((status) => status >= 500);
  if (failed !== undefined) faults.push(`answered ${failed}: ${text.slice(-SHOWN_CHARACTERS)}`);
  if (hung) faults.push(`neither answered nor closed within ${ANSWER_MS} ms`);
  if (INSIDES.test(text) || text.includes(dataDir)) {
    faults.push(`told its insides: ${text.slice(-SHOWN_CHARACTERS)}`);
  }
  return faults;
}

/** Reads every stream back; returns how many events there are. */
async function checkStore(run: Run, api: Api): Promise<number> {
  const counts = new Map<string, number>();
  let events = 0;
  for (const type of TYPES) {
    const keys = (await api.list(type)).map((id) => `${type}:${id}`);
    while (keys.length > 0) {
      const part = keys.splice(0, LANES);
      const lengths = await Promise.all(part.map((key) => checkStream(run, api, key, counts)));
      events += lengths.reduce((sum, length) => sum + length, 0);
    }
  }
  for (const { fuzzCase: { group }, index, status } of run.groups) {
    const count = counts.get(group!.id) ?? 0;
    const expected = status === undefined ? [0, group!.size] : [status === 201 ? group!.size : 0];
    if (!expected.includes(count)) {
      run.faults.push(`case ${index}: answered ${status}, ${count} of ${group!.size} events there`);
    }
  }
  return events;
}

/** The chain verifies over the stored bytes; length, state and log agree. */
async function checkStream(
  run: Run,
  api: Api,
  key: string,
  counts: Map<string, number>,
): Promise<number> {
  const entries = await api.events(key);
  let tip = "";
  for (const { raw, hash } of entries) {
    tip = createHash("sha256").update(tip + raw).digest("hex");
    if (tip !== hash) run.faults.push(`${key}: the hash chain does not verify`);
    const { group } = JSON.parse(raw).data;
    if (typeof group === "string") counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  const [length, cached, folded] = await Promise.all([
    api.length(key),
    api.aggregate(key, false),
    api.aggregate(key, true),
  ]);
  const told = [length, cached.length, folded.length];
  if (told.some((number) => number !== entries.length)) {
    run.faults.push(`${key}: ${entries.length} events listed, lengths told ${told.join()}`);
  }
  if (JSON.stringify(cached.data) !== JSON.stringify(folded.data)) {
    run.faults.push(`${key}: the state kept differs from the state folded`);
  }
  return entries.length;
}

async function checkEnd({ server, faults }: Run): Promise<void> {
  const ended = server.howItEnded();
  if (ended !== undefined) {
    faults.push(`the server ended (${ended}):\n${server.output()}`);
    return;
  }
  const code = await server.stop();
  if (code !== 0) faults.push(`the server ended with ${code} when stopped:\n${server.output()}`);
}

function shorten(bytes: Uint8Array): string {
  const text = new TextDecoder("latin1").decode(bytes.subarray(0, SHOWN_CHARACTERS));
  return JSON.stringify(text.replace(/Bearer [^\r\n]*/, "Bearer ..."));
}
