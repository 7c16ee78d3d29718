/**
 * Imports an environment file into an empty environment, all of it or nothing. The contents are
 * kept where nobody sees them until the file's last line has proved it complete. Then one
 * transaction makes them the environment. An import that dies leaves the environment unchanged,
 * and the next import into the same environment removes what it left. See
 * docs/reference/transfer.md.
 */

import { limits } from "../../domain/limits.ts";
import { checkBlobs } from "../../domain/spec/bind_blobs.ts";
import { publicKeyOf } from "../../domain/audit/signing_key.ts";
import { runInPieces } from "../../domain/fairness/pieces.ts";
import { compileSpecSteps } from "../../domain/spec/compile.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import {
  createFileCheck,
  type FileFault,
  type FileItem,
} from "../../domain/transfer/check_file.ts";
import {
  API_KEYS_MAX,
  type ApiKeyLine,
  type BlobRecord,
  type FileCounts,
  type HeaderRecord,
  LINE_BYTES_MAX,
  type SigningKeyLine,
} from "../../domain/transfer/record.ts";
import type { WorkItem } from "../../domain/transfer/work.ts";
import { createLineSplitter } from "../../domain/transfer/split_lines.ts";
import type { Host } from "../../host.ts";
import type { Bytes, Engine } from "../../kv/engine.ts";
import { findBlobs } from "../../store/blobs.ts";
import type { SigningKeyRecord } from "../../store/audit/signing_keys.ts";
import { readSpecText } from "../../store/specs.ts";
import { openWasmPool, type WasmPool } from "../../wasm/pool.ts";
import { prepareInstance } from "../access/instances.ts";
import { finishTransfers } from "../base/activate_work.ts";
import { judgeTarget, type TransferWish } from "./transfer_target.ts";
import { type Published, publishTransfer } from "./publish_transfer.ts";
import { discardStage, openStage, type Stage } from "./stage_transfer.ts";
import { parseJson } from "../../domain/json_text/parse_json.ts";

export interface TransferSummary extends Published {
  readonly counts: FileCounts;
  readonly environment: string;
  /** Ledger entries of writes that came after the file's moment. */
  readonly ledgerLeftOut: number;
  /** API keys in the file that belong to another environment or instance. */
  readonly apiKeysLeftOut: number;
}

export type TransferOutcome =
  | { readonly ok: true; readonly summary: TransferSummary }
  | { readonly ok: false; readonly fault: FileFault };

export interface TransferOptions extends TransferWish {
  readonly onProgress?: (counts: FileCounts) => void;
}

/** What is known of the file so far, besides what is stored. */
interface Gathered {
  readonly apiKeys: ApiKeyLine[];
  readonly signingKeys: SigningKeyRecord[];
  header?: HeaderRecord;
  stage?: Stage;
  currentSpec?: CompiledSpec;
  counts?: FileCounts;
}

const SIGNING_KEYS_MAX = 1_000;
/** For checking modules, one after the other. */
const POOL = { runners: 1, stackKilobytes: limits.wasmStackKilobytesDefault, onFault() {} };

/**
 * Reads `file` to its end, or up to the first fault.
 * @throws what the store throws; a rerun then begins anew.
 */
export async function importEnvironment(
  engine: Engine,
  host: Host,
  file: AsyncIterable<Uint8Array>,
  options: TransferOptions = {},
): Promise<TransferOutcome> {
  const gathered: Gathered = { apiKeys: [], signingKeys: [] };
  const { instance: { id: spareId }, signingKey } = await prepareInstance(host, "spare", "free");
  let place: { slug: string; environment: HeaderRecord["environment"] } | undefined;
  const check = createFileCheck();
  const splitter = createLineSplitter();
  let pool: WasmPool | undefined;

  async function readFile(): Promise<FileFault | undefined> {
    for await (const chunk of file) {
      for (const line of splitter.push(chunk)) {
        const step = check.take(line);
        if (!step.ok) return step.fault;
        if (step.item === undefined) continue;
        const fault = await takeItem(step.item);
        if (fault !== undefined) return fault;
      }
      if (splitter.restBytes > LINE_BYTES_MAX) {
        return fault("line_too_long", `the line is longer than ${LINE_BYTES_MAX} bytes`, 1);
      }
      options.onProgress?.(check.counts);
    }
    return check.finish(splitter.rest()) ?? await gathered.stage!.flush();
  }

  function takeItem(item: FileItem): Promise<FileFault | undefined> | undefined {
    if (item.kind === "header") return begin(item.header);
    const stage = gathered.stage!;
    if (item.kind === "event") stage.addEvent(item);
    else if (item.kind === "work") return addWork(stage, item.work, item.bytes);
    else if (item.kind === "blob") return addBlob(stage, item.blob, item.file);
    else if (item.kind === "current_spec") return makeCurrent(stage, item.current.version);
    else {
      const refused = gather(item, stage);
      if (refused !== undefined) return Promise.resolve(refused);
    }
    return stage.isFull ? stage.flush() : undefined;
  }

  async function addWork(
    stage: Stage,
    work: WorkItem,
    bytes: number,
  ): Promise<FileFault | undefined> {
    const { line } = check;
    if (!stage.hasRoomFor(bytes)) {
      const unstored = await stage.flush();
      if (unstored !== undefined) return unstored;
    }
    stage.addWork(work, bytes, line);
    return stage.isFull ? await stage.flush() : undefined;
  }

  /** Checked like an upload: a file's claims about a module are trusted no more than anybody's. */
  async function addBlob(
    stage: Stage,
    { name, version, sha256, bytes, created_at }: BlobRecord,
    file: Bytes,
  ): Promise<FileFault | undefined> {
    pool ??= openWasmPool(POOL);
    const checked = await pool.checkModule(name, file);
    if (!checked.ok) throw new Error(`The blob ${name} could not be checked; import again`);
    const check = checked.value;
    if (!check.ok) return fault("blob_invalid", `${name}:v${version}: ${check.violation.message}`);
    const unstored = await stage.flush();
    if (unstored !== undefined) return unstored;
    const { entrypoints: exports, bytes: module } = check.module;
    stage.addBlob({ name, version, sha256, exports, bytes, created_at }, file, module);
    return await stage.flush();
  }

  async function begin(header: HeaderRecord): Promise<FileFault | undefined> {
    const judged = await engine.snapshot((tx) => judgeTarget(tx, header, options, spareId));
    if (!judged.ok) return { line: check.line, ...judged.breach };
    const { slug, environment } = judged.value;
    place = { slug, environment };
    gathered.header = header;
    gathered.stage = await openStage(engine, place);
    return undefined;
  }

  function gather(item: FileItem, stage: Stage): FileFault | undefined {
    const { apiKeys, signingKeys } = gathered;
    if (item.kind === "stream") stage.openStream(item.stream, check.line);
    if (item.kind === "tip") stage.closeStream();
    if (item.kind === "ledger") stage.addLedgerEntry(item.entry);
    if (item.kind === "spec") {
      const { version, spec_hash, created_at } = item.spec;
      stage.addSpec({ version, spec_hash, created_at }, item.text);
    }
    if (item.kind === "api_key") apiKeys.push(item.apiKey);
    if (item.kind === "signing_key") signingKeys.push(withoutName(item.signingKey));
    if (item.kind === "end") gathered.counts = item.counts;
    if (apiKeys.length <= API_KEYS_MAX && signingKeys.length <= SIGNING_KEYS_MAX) return undefined;
    return fault("too_many_keys", `at most ${API_KEYS_MAX} API keys fit`);
  }

  /** A spec that this build cannot run would make the environment unreadable. */
  async function makeCurrent(stage: Stage, version: number): Promise<FileFault | undefined> {
    stage.makeSpecCurrent(version);
    const unstored = await stage.flush();
    if (unstored !== undefined) return unstored;
    const text = await engine.snapshot((tx) => readSpecText(tx, stage.tenant, version));
    const checked = await checkSpec(engine, host, stage.tenant, text);
    if (typeof checked === "string") return fault("spec_invalid", checked);
    gathered.currentSpec = checked;
    return undefined;
  }

  function fault(rule: string, message: string, ahead = 0): FileFault {
    return { line: check.line + ahead, rule, message };
  }

  async function publish(): Promise<TransferOutcome> {
    const { header, stage, apiKeys, signingKeys, counts } = gathered;
    const wrong = await findWrongSigningKey(signingKeys);
    if (wrong !== undefined) return { ok: false, fault: fault("signing_key", wrong) };
    const published = await publishTransfer(engine, {
      place: place!,
      tenant: stage!.tenant,
      nowMs: host.nowMs(),
      header: header!,
      wish: options,
      spareId,
      apiKeys,
      signingKeys,
      freshSigningKey: signingKey,
      currentSpec: gathered.currentSpec,
      rebuildTypes: stage!.longTypes,
    });
    if (!published.ok) return { ok: false, fault: { line: 1, ...published.breach } };
    // The environment is imported now, whatever happens; the sweeper moves what this leaves.
    await finishTransfers(engine).catch(() => {});
    const summary: TransferSummary = {
      ...published.value,
      environment: place!.environment,
      counts: counts!,
      ledgerLeftOut: stage!.ledgerLeftOut,
      apiKeysLeftOut: apiKeys.length - published.value.apiKeys,
    };
    return { ok: true, summary };
  }

  const refused = await readFile().finally(() => pool?.close());
  const outcome = refused === undefined ? await publish() : { ok: false as const, fault: refused };
  if (!outcome.ok && gathered.stage !== undefined) {
    await discardStage(engine, place!, gathered.stage.tenant);
  }
  return outcome;
}

function withoutName({ record: _, ...key }: SigningKeyLine): SigningKeyRecord {
  return key;
}

/** Compiles the spec in time slices. Returns it, or a sentence on why this build cannot run it. */
async function checkSpec(
  engine: Engine,
  host: Host,
  tenant: number,
  text: string,
): Promise<CompiledSpec | string> {
  let document: unknown;
  try {
    document = parseJson(text);
  } catch {
    return "the current spec is not JSON";
  }
  const compiled = await runInPieces(compileSpecSteps(document, "store"), host);
  const calls = compiled.ok ? compiled.spec.moduleCalls : [];
  const references = calls.map(({ blob }) => blob);
  const found = await engine.snapshot((tx) => findBlobs(tx, tenant, references));
  const [violation] = compiled.ok ? checkBlobs(calls, found) : compiled.violations;
  if (compiled.ok && violation === undefined) return compiled.spec;
  const { path, message } = violation!;
  return `this build cannot run the current spec: ${path}: ${message}`;
}

async function findWrongSigningKey(
  signingKeys: readonly SigningKeyRecord[],
): Promise<string | undefined> {
  for (const { number, public_key, private_key } of signingKeys) {
    const derived = await publicKeyOf(Uint8Array.fromHex(private_key));
    if (derived.toHex() !== public_key) return `the two halves of key ${number} are no pair`;
  }
  return undefined;
}
