/**
 * Exports one environment as of one moment, even while nodes write to it. See
 * docs/reference/transfer.md.
 *
 * Events are written in rounds. Each round reads all heads, writes what is new below them, and
 * then reads all pending work. The file is done when a round was read at one version of the
 * store, or when it found nothing new. In the latter case, no head and no pending work has
 * changed between its reading in the round before and its reading in this one. So at the
 * beginning of this round, the environment was exactly what the file says. No write over
 * several streams is half in the file, and no pending work is in it together with the event it
 * has become. Pending work is written once that is known, as the last round read it.
 *
 * Ledger entries are read after that, so each write in the file has its entry. An entry of a
 * later write names events that the file does not have, and the import leaves it out.
 */

import { createHash } from "node:crypto";
import type { Environment } from "../../domain/tenant.ts";
import { type BlobVersion, referenceText } from "../../domain/wasm/blob.ts";
import {
  API_KEYS_MAX,
  type FileCounts,
  FORMAT,
  FORMAT_VERSION,
} from "../../domain/transfer/record.ts";
import type { WorkText } from "../../domain/transfer/work.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { listStoredApiKeys } from "../../store/access/api_keys.ts";
import { readBlobFile } from "../../store/blobs.ts";
import { isExpired, listLedger } from "../../store/streams/idempotency.ts";
import { type InstanceRecord, viewInstance } from "../../store/access/instances.ts";
import { listSigningKeys } from "../../store/audit/signing_keys.ts";
import { readSpecText } from "../../store/specs.ts";
import { finishTransfers } from "../base/activate_work.ts";
import { createFileWriter, type FileOutput, type FileWriter } from "./file_writer.ts";
import {
  type Delta,
  ExportDisturbed,
  type ListedHead,
  type Reached,
  readDeltas,
  readSpecState,
  rewritten,
  scanSegment,
  SEGMENT_LIMITS,
  type SpecState,
} from "./read_streams.ts";
import { scanWork, type SegmentLimits, type WorkSegment } from "./scan_work.ts";

/** The head of a stream as far as the file has it. */
export interface WrittenHead extends Reached {
  readonly key: string;
  readonly generation: number;
}

/** Keeps what a round has read, in order, outside memory: it may not fit there. */
export interface Spool<T> {
  append(items: readonly T[]): Promise<void>;
  /** Returns what was appended since the last turn; later appends belong to the next turn. */
  turn(): Promise<AsyncIterableIterator<T>>;
}

export interface ExportRequest {
  readonly instance: InstanceRecord;
  readonly environment: Environment;
  readonly withSigningKeys: boolean;
}

export interface ExportTools {
  readonly output: FileOutput;
  /** Heads, for the next round. */
  readonly spool: Spool<WrittenHead>;
  /** Pending work, until it is known to belong to the file's moment. */
  readonly workSpool: Spool<WorkText>;
  /** Called from time to time with the progress. */
  readonly onProgress?: (counts: FileCounts) => void;
  readonly limits?: SegmentLimits;
}

/** Rounds after which an environment that is still being written to is given up. */
const ROUNDS_MAX = 20;
const LEDGER_PAGE = 1_000;
const MS_PER_SECOND = 1_000;

interface Run {
  readonly engine: Engine;
  readonly host: Host;
  readonly tenant: number;
  readonly writer: FileWriter;
  readonly tools: ExportTools;
}

/**
 * Writes the whole file and returns what it holds.
 * @throws {ExportDisturbed} if the environment is written to faster than it can be read.
 */
export async function exportEnvironment(
  engine: Engine,
  host: Host,
  request: ExportRequest,
  tools: ExportTools,
): Promise<FileCounts> {
  const { instance, environment, withSigningKeys } = request;
  const tenant = instance.tenants[environment];
  // After this, imported work is in the queues and nowhere else.
  await finishTransfers(engine);
  const writer = createFileWriter(tools.output);
  const run: Run = { engine, host, tenant, writer, tools };
  await writer.writeRecord({
    record: "header",
    format: FORMAT,
    version: FORMAT_VERSION,
    instance: viewInstance(instance),
    environment,
    exported_at: new Date(host.nowMs()).toISOString(),
  });
  if (withSigningKeys) await writeSigningKeys(run, instance.id);
  const specs = await writeStreams(run);
  await writeApiKeys(run);
  await writeLedger(run);
  await writeWork(run);
  if (specs.current !== undefined) {
    await writer.writeRecord({ record: "current_spec", version: specs.current });
  }
  return await writer.end();
}

/** Runs all rounds. Returns the specs of the moment that the file shows. */
async function writeStreams(run: Run): Promise<SpecState> {
  let before: RoundEnd = { specs: undefined, workDigest: undefined };
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    const { specs, workDigest, isOneMoment } = await writeRound(run, before);
    before = { specs, workDigest };
    if (isOneMoment) return specs;
  }
  throw new ExportDisturbed(
    `The environment was written to in each of ${ROUNDS_MAX} rounds over its streams, so there ` +
      "was no moment that a file could tell. Export it while less is written, or stop its writers",
  );
}

/** What the next round has to know about a round. */
interface RoundEnd {
  /** Specs and blobs that the file has. */
  readonly specs: SpecState | undefined;
  /** Of all pending work; undefined before the first round. */
  readonly workDigest: string | undefined;
}

interface Round {
  readonly specs: SpecState;
  readonly workDigest: string;
  readonly isOneMoment: boolean;
}

async function writeRound(run: Run, { specs: written, workDigest }: RoundEnd): Promise<Round> {
  const { engine, host, tenant, tools } = run;
  const limits = tools.limits ?? SEGMENT_LIMITS;
  const previous = await tools.spool.turn();
  let specs: SpecState | undefined;
  let firstVersion: bigint | undefined;
  let last: ListedHead | undefined;
  let before = await previous.next();
  let changes = 0;
  for (;;) {
    const isFirst = specs === undefined;
    const segment = await scanSegment(
      engine,
      host,
      { tenant, after: last?.key, limits },
      (tx) => isFirst ? readSpecState(tx, tenant) : Promise.resolve(undefined),
    );
    specs ??= segment.beside!;
    firstVersion ??= segment.version;
    if (isFirst) {
      changes += await writeSpecs(run, specs, written?.versions.length ?? 0);
      changes += await writeBlobs(run, specs, written?.blobs ?? []);
    }
    const deltas: Delta[] = [];
    for (const { key, head } of segment.heads) {
      // Streams never go away, so the heads before are a subset of these, in the same order.
      const known = !before.done && before.value.key === key ? before.value : undefined;
      if (known !== undefined) before = await previous.next();
      if (known !== undefined && known.generation !== head.generation) throw rewritten(key);
      const from = known ?? { length: 0, bytes: 0, tip: undefined };
      if (head.length > from.length) deltas.push({ key, head, from });
    }
    await writeDeltas(run, deltas);
    changes += deltas.length;
    last = segment.heads.at(-1) ?? last;
    const isWholeRound = segment.work?.next === undefined && segment.isLast && isFirst;
    if (!isWholeRound) await tools.spool.append(segment.heads.map(asWritten));
    if (segment.work === undefined) continue;
    if (!before.done) throw new ExportDisturbed(`The stream ${before.value.key} is gone`);
    const digest = await spoolWork(run, segment.work);
    const isSame = changes === 0 && digest === workDigest;
    const isOneMoment = isWholeRound || isSame || await isStill(engine, firstVersion);
    return { specs, workDigest: digest, isOneMoment };
  }
}

/** Spools the work of a round, reading the rest of it. Returns the digest of all of it. */
async function spoolWork(run: Run, first: WorkSegment): Promise<string> {
  const { engine, host, tenant, tools } = run;
  const limits = tools.limits ?? SEGMENT_LIMITS;
  const digest = createHash("sha256");
  // Discards what the round before has spooled; it does not belong to the moment.
  await tools.workSpool.turn();
  for (let segment = first;;) {
    for (const { kind, text } of segment.texts) digest.update(`${kind} ${text}\n`);
    if (segment.texts.length > 0) await tools.workSpool.append(segment.texts);
    const { next } = segment;
    if (next === undefined) return digest.digest("hex");
    segment = await engine.snapshot((tx) => {
      const endMs = host.nowMs() + limits.milliseconds;
      return scanWork(tx, host, tenant, { place: next, limits, endMs });
    });
  }
}

/** True if nothing at all was committed since that version. Always true without other writers. */
async function isStill(engine: Engine, version: bigint): Promise<boolean> {
  return await engine.snapshot((tx) => tx.readVersion()) === version;
}

function asWritten({ key, head }: ListedHead): WrittenHead {
  const { length, bytes, tip, generation } = head;
  return { key, length, bytes, tip, generation };
}

async function writeDeltas({ engine, tenant, writer, tools }: Run, deltas: readonly Delta[]) {
  for await (const page of readDeltas(engine, tenant, deltas)) {
    const { delta: { key, head, from }, events, isFirst, isLast } = page;
    if (isFirst) {
      const { generation, createdAt: created_at, updatedAt: updated_at } = head;
      const { length, tip } = from;
      await writer.writeRecord({
        record: "stream",
        key,
        generation,
        created_at,
        updated_at,
        from: length,
        ...(length > 0 && { tip }),
      });
    }
    await writer.writeEvents(events);
    if (isLast) await writer.writeRecord({ record: "tip", length: head.length, tip: head.tip! });
    tools.onProgress?.(writer.counts);
  }
}

/** Writes the spec versions after the first `written`. Returns how many. */
async function writeSpecs(
  { engine, tenant, writer }: Run,
  { versions }: SpecState,
  written: number,
): Promise<number> {
  const fresh = versions.slice(written);
  for (const { version, spec_hash, created_at } of fresh) {
    const text = await engine.snapshot((tx) => readSpecText(tx, tenant, version));
    await writer.writeInParts({ record: "spec", version, spec_hash, created_at }, text);
  }
  return fresh.length;
}

/** Writes the blob versions that are not in `written`. Returns how many. Versions never change. */
async function writeBlobs(
  { engine, tenant, writer }: Run,
  { blobs }: SpecState,
  written: readonly BlobVersion[],
): Promise<number> {
  const before = new Set(written.map(referenceText));
  const fresh = blobs.filter((blob) => !before.has(referenceText(blob)));
  for (const blob of fresh) {
    const { name, version, sha256, bytes, created_at } = blob;
    const file = await engine.snapshot((tx) => readBlobFile(tx, tenant, blob));
    const record = { record: "blob", name, version, sha256, bytes, created_at } as const;
    await writer.writeInParts(record, file.toBase64());
  }
  return fresh.length;
}

async function writeSigningKeys({ engine, writer }: Run, instanceId: string): Promise<void> {
  const pairs = await engine.snapshot((tx) => listSigningKeys(tx, instanceId));
  for (const { number, public_key, private_key, created_at } of pairs) {
    const record = "signing_key";
    await writer.writeRecord({ record, number, public_key, private_key, created_at });
  }
}

async function writeApiKeys({ engine, tenant, writer }: Run): Promise<void> {
  const stored = await engine.snapshot((tx) => listStoredApiKeys(tx, tenant, API_KEYS_MAX + 1));
  if (stored.length > API_KEYS_MAX) {
    throw new Error(`The environment has more than ${API_KEYS_MAX} API keys; revoke some of them`);
  }
  for (const { record: { id, name, scope, created_at, revoke_at }, hash } of stored) {
    const times = { created_at, ...(revoke_at !== undefined && { revoke_at }) };
    await writer.writeRecord({ record: "api_key", id, name, scope, hash, ...times });
  }
}

async function writeWork({ writer, tools }: Run): Promise<void> {
  for await (const { kind, text } of await tools.workSpool.turn()) {
    await writer.writeInParts({ record: "work", kind }, text);
    tools.onProgress?.(writer.counts);
  }
}

/** Expired entries are skipped: they count as removed. */
async function writeLedger({ engine, host, tenant, writer, tools }: Run): Promise<void> {
  const now = Math.floor(host.nowMs() / MS_PER_SECOND);
  let after: string | undefined;
  for (;;) {
    const cursor = { tenant, after };
    const page = await engine.snapshot((tx) => listLedger(tx, cursor, LEDGER_PAGE));
    for (const entry of page) {
      if (isExpired(entry, now)) continue;
      const { key, bodyHash, used, written } = entry;
      await writer.writeRecord({
        record: "ledger",
        key,
        body_hash: bodyHash,
        used,
        form: written.form,
        request_id: written.requestId,
        implied_count: written.impliedCount,
        targets: written.targets.map(({ key, first, count }) => [key, first, count] as const),
      });
    }
    tools.onProgress?.(writer.counts);
    if (page.length < LEDGER_PAGE) return;
    after = page.at(-1)!.key;
  }
}
