/**
 * Exports one environment as of one moment, even while nodes write to it. See
 * docs/reference/transfer.md.
 *
 * The first round reads the heads of all streams, in as many transactions as it takes, and writes
 * the events below them. Each transaction notes where the commit log ended. Everything later is
 * read from the log. So the log alone tells which events of a stream the file has: all that was
 * logged up to the place that was read, and no others.
 *
 * Each further round reads the log, transaction by transaction, and writes the events that it
 * names, until a transaction reaches the end of the log. That one also reads the specs and all
 * pending work. Together with what is written, this is the environment at the version of that
 * transaction. No write over several streams is half in the file, and no pending work is in it
 * together with the event it has become.
 *
 * If the pending work is too much for that transaction, others read the rest, and another round
 * follows, for which the log is shorter. Work that is too much for any transaction belongs to one
 * moment if two rounds in a row have read the same, and the log had nothing new for the second.
 * Then nothing has changed between the two readings, which lie before and after the moment at which
 * the second round began. Pending work is written once that is known, as the last round read it.
 *
 * Ledger entries are read after that, so each write in the file has its entry. An entry of a
 * later write names events that the file does not have, and the import leaves it out.
 */

import { createHash } from "node:crypto";
import type { LogPlace } from "../../domain/feed/place.ts";
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
import { readChanges, type RestOfMoment, type SeenPart } from "./read_changes.ts";
import {
  type Delta,
  ExportDisturbed,
  readDeltas,
  readSpecState,
  scanSegment,
  SEGMENT_LIMITS,
  type SpecState,
} from "./read_streams.ts";
import { scanWork, type SegmentLimits, type WorkSegment } from "./scan_work.ts";

/** Keeps pending work that was read, in order, outside memory: it may not fit there. */
export interface Spool {
  append(items: readonly WorkText[]): Promise<void>;
  /** Returns what was appended since the last turn; later appends belong to the next turn. */
  turn(): Promise<AsyncIterableIterator<WorkText>>;
}

export interface ExportRequest {
  readonly instance: InstanceRecord;
  readonly environment: Environment;
  readonly withSigningKeys: boolean;
}

export interface ExportTools {
  readonly output: FileOutput;
  /** Keeps the work until it is known to belong to the file's moment. */
  readonly spool: Spool;
  /** Called from time to time with the progress. */
  readonly onProgress?: (counts: FileCounts) => void;
  readonly limits?: SegmentLimits;
}

/** Rounds after which pending work that one transaction cannot read has never stood still. */
const ROUNDS_MAX = 20;
/** Writers are too fast if a round takes this many times the transactions that it began with. */
const CATCHING_UP_MAX = 20;
const LEDGER_PAGE = 1_000;
const MS_PER_SECOND = 1_000;

interface Run {
  readonly engine: Engine;
  readonly host: Host;
  readonly tenant: number;
  readonly writer: FileWriter;
  readonly tools: ExportTools;
  readonly limits: SegmentLimits;
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
  const limits = tools.limits ?? SEGMENT_LIMITS;
  const run: Run = { engine, host, tenant, writer, tools, limits };
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
  let { specs, workDigest, seen, after, isOneMoment } = await writeListed(run);
  for (let round = 2; !isOneMoment; round++) {
    if (round > ROUNDS_MAX) throw tooBusy();
    const logged = await writeLogged(run, seen, after);
    const fresh = await writeFresh(run, logged.specs, specs);
    const digest = await spoolWork(run, logged.work);
    const isSame = !logged.hasChanges && fresh === 0 && digest === workDigest;
    const isWhole = logged.work.next === undefined;
    isOneMoment = isWhole || isSame || await isStill(run.engine, logged.version);
    ({ specs, after } = logged);
    workDigest = digest;
  }
  return specs;
}

function tooBusy(): ExportDisturbed {
  return new ExportDisturbed(
    `The environment was written to in each of ${ROUNDS_MAX} rounds, faster than it was read, or ` +
      "with more pending work than one transaction reads. So there was no moment that a file could " +
      "tell. Export it while less is written, or stop its writers",
  );
}

/** What the first round has written. */
interface Listed {
  /** In which parts it has seen the streams. */
  readonly seen: readonly SeenPart[];
  /** The file has what is logged up to here. */
  readonly after: LogPlace;
  readonly specs: SpecState;
  /** Of all pending work. */
  readonly workDigest: string;
  readonly isOneMoment: boolean;
}

/** The first round, over all streams. */
async function writeListed(run: Run): Promise<Listed> {
  const { engine, host, tenant, limits } = run;
  const seen: SeenPart[] = [];
  let specs: SpecState | undefined;
  let firstVersion: bigint | undefined;
  for (;;) {
    const isFirst = specs === undefined;
    const segment = await scanSegment(
      engine,
      host,
      { tenant, after: seen.at(-1)?.last, limits },
      (tx) => isFirst ? readSpecState(tx, tenant) : Promise.resolve(undefined),
    );
    specs ??= segment.beside!;
    firstVersion ??= segment.version;
    if (isFirst) await writeFresh(run, specs);
    const filled = segment.heads.filter(({ head }) => head.length > 0);
    await writeDeltas(run, filled.map((each) => ({ ...each, from: 0, to: each.head.length })));
    const { place, work } = segment;
    seen.push({ last: segment.isLast ? undefined : segment.heads.at(-1)!.key, place });
    if (work === undefined) continue;
    const workDigest = await spoolWork(run, work);
    const isWhole = isFirst && work.next === undefined;
    const isOneMoment = isWhole || await isStill(engine, firstVersion);
    return { seen, after: seen[0]!.place, specs, workDigest, isOneMoment };
  }
}

/** What a later round has written, and what the environment was at its end. */
interface Logged extends RestOfMoment {
  readonly version: bigint;
  readonly after: LogPlace;
  readonly hasChanges: boolean;
}

/** A later round: writes what is logged behind `after`, until it has reached the end of the log. */
async function writeLogged(
  run: Run,
  seen: readonly SeenPart[],
  after: LogPlace,
): Promise<Logged> {
  const { engine, host, tenant, limits } = run;
  let hasChanges = false;
  /** Where the log ended when the round began. */
  let goal: LogPlace | undefined;
  let readingsMax = Infinity;
  for (let place = after, readings = 1; readings <= readingsMax; readings++) {
    const read = await readChanges(engine, host, { tenant, after: place, seen, limits });
    await writeDeltas(run, read.deltas);
    hasChanges ||= read.deltas.length > 0;
    const { version, rest } = read;
    place = read.place;
    if (rest !== undefined) return { ...rest, version, after: place, hasChanges };
    goal ??= read.end;
    // What has come meanwhile should take fewer transactions than what was there.
    if (place >= goal) readingsMax = Math.min(readingsMax, readings * CATCHING_UP_MAX);
  }
  throw tooBusy();
}

/** Spools the work of a round, reading the rest of it. Returns the digest of all of it. */
async function spoolWork(run: Run, first: WorkSegment): Promise<string> {
  const { engine, host, tenant, tools, limits } = run;
  const digest = createHash("sha256");
  // Discards what the round before has spooled; it does not belong to the moment.
  await tools.spool.turn();
  for (let segment = first;;) {
    for (const { kind, text } of segment.texts) digest.update(`${kind} ${text}\n`);
    if (segment.texts.length > 0) await tools.spool.append(segment.texts);
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

async function writeDeltas({ engine, tenant, writer, tools }: Run, deltas: readonly Delta[]) {
  for await (const page of readDeltas(engine, tenant, deltas)) {
    const { delta: { key, head, from, to }, events, isFirst, isLast, tipBefore, tip } = page;
    if (isFirst) {
      const { generation, createdAt: created_at, updatedAt: updated_at } = head;
      await writer.writeRecord({
        record: "stream",
        key,
        generation,
        created_at,
        updated_at,
        from,
        ...(tipBefore !== undefined && { tip: tipBefore }),
      });
    }
    await writer.writeEvents(events);
    if (isLast) await writer.writeRecord({ record: "tip", length: to, tip });
    tools.onProgress?.(writer.counts);
  }
}

/** Writes the spec and blob versions that the file does not have. Returns how many. */
async function writeFresh(run: Run, specs: SpecState, written?: SpecState): Promise<number> {
  return await writeSpecs(run, specs, written?.versions.length ?? 0) +
    await writeBlobs(run, specs, written?.blobs ?? []);
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
  const stored = await engine.snapshot((tx) =>
    listStoredApiKeys(tx, tenant, { limit: API_KEYS_MAX + 1 })
  );
  if (stored.length > API_KEYS_MAX) {
    throw new Error(`The environment has more than ${API_KEYS_MAX} API keys; revoke some of them`);
  }
  for (const { record: { id, name, scope, created_at, revoke_at }, hash } of stored) {
    const times = { created_at, ...(revoke_at !== undefined && { revoke_at }) };
    await writer.writeRecord({ record: "api_key", id, name, scope, hash, ...times });
  }
}

async function writeWork({ writer, tools }: Run): Promise<void> {
  for await (const { kind, text } of await tools.spool.turn()) {
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
