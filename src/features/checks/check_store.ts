/**
 * Checks the evidence of a whole store.
 *
 * It checks every stream against its own events, every anchor against its signature, and the
 * trees of anchors against the chunks and blocks that bundles are made from. `fsck` runs it. On a
 * cluster, others may use the store meanwhile.
 */

import {
  type InstanceAnchor,
  verifyInstanceAnchor,
  verifyPlatformAnchor,
} from "../../domain/audit/anchor.ts";
import {
  blocksRoot,
  hashBlock,
  joinBlocks,
  type TreeEntry,
} from "../../domain/audit/tree_blocks.ts";
import { BLOCK_LEAVES } from "../../domain/audit/tree_rows.ts";
import { ENVIRONMENTS } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import { listAnchors, readAnchor, readAnchorState, readBlocks } from "../../store/audit/anchors.ts";
import { type InstanceRecord, listInstances } from "../../store/access/instances.ts";
import { listSigningKeys, type SigningKeyRecord } from "../../store/audit/signing_keys.ts";
import { findChunks, listChunks, readChunk } from "../../store/audit/tree_chunks.ts";
import { checkMarkers, erasedLengths, findErasures } from "./check_erasures.ts";
import { checkLog } from "./check_log.ts";
import { checkStreams, type WalkedStreams } from "./check_streams.ts";
import type { Report } from "./report.ts";
import { merkleRoot } from "../../domain/audit/merkle.ts";
import { publicKeyOf } from "../../domain/audit/signing_key.ts";
import {
  listPlatformAnchors,
  listPlatformKeys,
  type PlatformRecord,
} from "../../store/audit/platform_anchors.ts";

/** The part of an engine that checking needs: it writes nothing. */
type Reader = Pick<Engine, "snapshot" | "capabilities">;

export interface StoreFault {
  /** `<slug> <environment>`, a slug, or `platform`. */
  readonly place: string;
  /** A stream, an anchor, a chunk. */
  readonly subject: string;
  readonly fault: string;
}

export interface StoreCheck {
  readonly faults: readonly StoreFault[];
  readonly environments: number;
  readonly streams: number;
  readonly events: number;
  readonly anchors: number;
}

/**
 * `all`: also checks the trees of older anchors. All signatures are checked in any case.
 *
 * What another process changes between two reads may look like a fault, once. So faults of a
 * shared store count if a second check finds them, too.
 */
export async function checkStore(engine: Reader, all: boolean): Promise<StoreCheck> {
  const first = await checkOnce(engine, all);
  if (first.faults.length === 0 || !engine.capabilities.isShared) return first;
  const before = new Set(first.faults.map(nameOf));
  const second = await checkOnce(engine, all);
  return { ...second, faults: second.faults.filter((fault) => before.has(nameOf(fault))) };
}

/** Without numbers, which grow with the stream. */
function nameOf({ place, subject, fault }: StoreFault): string {
  return [place, subject, fault.replaceAll(/\d+/g, "")].join("\n");
}

async function checkOnce(engine: Reader, all: boolean): Promise<StoreCheck> {
  const faults: StoreFault[] = [];
  const reportOf = (place: string): Report => (subject, fault) => {
    faults.push({ place, subject, fault });
    return undefined;
  };
  const counts = { environments: 0, streams: 0, events: 0, anchors: 0 };
  const instances = await engine.snapshot((tx) => listInstances(tx));
  for (const { id, slug, tenants } of instances) {
    const keys = await engine.snapshot((tx) => listSigningKeys(tx, id));
    const publicKeys = await checkSigningKeys(keys, reportOf(slug));
    for (const environment of ENVIRONMENTS) {
      const report = reportOf(`${slug} ${environment}`);
      const owner = { instance_id: id, environment, publicKeys };
      counts.environments++;
      const found = await checkTenant(engine, { tenant: tenants[environment], owner, all }, report)
        .catch((error: unknown) => report("records", reasonOf(error)));
      if (found === undefined) continue;
      counts.streams += found.streams;
      counts.events += found.events;
      counts.anchors += found.anchors;
    }
  }
  await checkPlatform(engine, instances, reportOf("platform"));
  return { faults, ...counts };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The owner that the anchors must belong to. */
interface Owner {
  readonly instance_id: string;
  readonly environment: string;
  readonly publicKeys: ReadonlySet<string>;
}

interface CheckedTree {
  readonly anchor: InstanceAnchor;
  readonly entries: readonly TreeEntry[];
}

interface CheckedTenant {
  readonly tenant: number;
  readonly owner: Owner;
  readonly all: boolean;
}

async function checkTenant(
  engine: Reader,
  { tenant, owner, all }: CheckedTenant,
  report: Report,
) {
  const trees: CheckedTree[] = [];
  const { anchors, state } = await engine.snapshot(async (tx) => ({
    anchors: await listAnchors(tx, tenant, { limit: Infinity }),
    state: await readAnchorState(tx, tenant),
  }));
  const newest = anchors[0]?.number ?? 0;
  if (state.newest !== newest || anchors.length !== newest) {
    report("anchors", `${anchors.length} are there, the newest has number ${state.newest}`);
  }
  for (const { number, anchor } of anchors) {
    if (!isSigned(anchor, owner)) report(anchor.id, "its signature is not one of the instance");
    const found = await engine.snapshot((tx) => readAnchor(tx, tenant, String(anchor.id)));
    if (found?.number !== number) report(anchor.id, "is not found by its id");
    if (!all && number !== newest) continue;
    const entries = await readTree(engine, { tenant, number, anchor }, report);
    trees.push({ anchor, entries });
  }
  for (const { low, anchor } of await engine.snapshot((tx) => listChunks(tx, tenant))) {
    const chunk = await engine.snapshot((tx) => readChunk(tx, tenant, low, anchor));
    const isMade = anchor >= 1 && chunk.image === anchor;
    if (!isMade) report(`chunk "${low}"`, `was not made by anchor ${anchor}`);
  }
  const wanted = new Map<string, Set<number>>();
  for (const { entries } of trees) {
    for (const { key, length } of entries) want(wanted, key, length);
  }
  const erasures = await findErasures(engine, tenant, owner, report);
  for (const { key, result } of erasures.done) want(wanted, key, result.event_count);
  const walked = await checkStreams(
    engine,
    { tenant, wanted, rewriting: erasures.rewriting },
    report,
  );
  checkMarkers(erasures, walked.found, report);
  await checkLog(engine, tenant, walked, report);
  const erased = erasedLengths(erasures);
  for (const tree of trees) checkLeaves(tree, walked, erased, report);
  return { streams: walked.streams, events: walked.events, anchors: anchors.length };
}

function want(wanted: Map<string, Set<number>>, key: string, length: number): void {
  const lengths = wanted.get(key) ?? new Set();
  wanted.set(key, lengths.add(length));
}

function isSigned(anchor: InstanceAnchor, { instance_id, environment, publicKeys }: Owner) {
  return isSignedBy(anchor, publicKeys) && anchor.instance_id === instance_id &&
    anchor.environment === environment && verifyInstanceAnchor(anchor);
}

interface AnchoredTree {
  readonly tenant: number;
  readonly number: number;
  readonly anchor: InstanceAnchor;
}

/** Reads an anchor's tree from its chunks and checks its blocks, counts and root. */
async function readTree(
  engine: Reader,
  { tenant, number, anchor }: AnchoredTree,
  report: Report,
): Promise<readonly TreeEntry[]> {
  try {
    const lows = await engine.snapshot((tx) =>
      findChunks(tx, tenant, { anchor: number, from: "", to: undefined })
    );
    const entries: TreeEntry[] = [];
    for (const low of lows) {
      const chunk = await engine.snapshot((tx) => readChunk(tx, tenant, low, number));
      entries.push(...chunk.entries);
    }
    const isSorted = entries.every(({ key }, at) => at === 0 || entries[at - 1]!.key < key);
    if (!isSorted) report(anchor.id, "the streams of its tree do not follow each other");
    const events = entries.reduce((sum, { length }) => sum + length, 0);
    if (events !== anchor.event_count || entries.length !== anchor.stream_count) {
      report(anchor.id, "its tree has other counts than it signs");
    }
    const blocks = joinBlocks(cutIntoBlocks(entries).map(hashBlock));
    const stored = await engine.snapshot((tx) => readBlocks(tx, tenant, number));
    if (JSON.stringify(blocks) !== JSON.stringify(stored)) {
      report(anchor.id, "its blocks are not those of its tree");
    }
    if (blocks.length === 0 || blocksRoot(blocks) !== anchor.merkle_root) {
      report(anchor.id, "its tree has another root than it signs");
    }
    return entries;
  } catch (error) {
    report(anchor.id, `its tree cannot be read: ${reasonOf(error)}`);
    return [];
  }
}

function cutIntoBlocks(entries: readonly TreeEntry[]): TreeEntry[][] {
  const blocks: TreeEntry[][] = [];
  for (let from = 0; from < entries.length; from += BLOCK_LEAVES) {
    blocks.push(entries.slice(from, from + BLOCK_LEAVES));
  }
  return blocks;
}

/**
 * Checks that each stream of the tree still matches what was signed, unless a request erased
 * it.
 */
function checkLeaves(
  { anchor, entries }: CheckedTree,
  { found }: WalkedStreams,
  erased: ReadonlyMap<string, number>,
  report: Report,
): void {
  for (const { key, length, leaf } of entries) {
    if (found.get(key)?.leaves.get(length) === leaf) continue;
    if (length <= (erased.get(key) ?? 0)) continue;
    report(key, `was erased or altered since ${anchor.id} was signed`);
  }
}

/**
 * Checks that each stored private key matches the public key beside it, and that the keys are
 * numbered from 1. Returns the public keys.
 */
async function checkSigningKeys(
  keys: readonly SigningKeyRecord[],
  report: Report,
): Promise<ReadonlySet<string>> {
  for (const [at, { number, public_key, private_key }] of keys.entries()) {
    if (number !== at + 1) report(`signing key ${at + 1}`, `says that it is number ${number}`);
    const made = await publicKeyOf(Uint8Array.fromHex(private_key));
    if (made.toHex() !== public_key) report(`signing key ${number}`, "its halves do not match");
  }
  return new Set(keys.map(({ public_key }) => public_key));
}

/** Whether a record has the current format, one of the keys, and its signature in lowercase. */
function isSignedBy(
  anchor: Pick<InstanceAnchor, "format" | "public_key" | "signature">,
  publicKeys: ReadonlySet<string>,
): boolean {
  return anchor.format === 2 && publicKeys.has(anchor.public_key) &&
    anchor.signature === anchor.signature.toLowerCase();
}

/** Each platform anchor must be signed by a key of the platform, and cover what it names. */
async function checkPlatform(
  engine: Pick<Engine, "snapshot">,
  instances: readonly InstanceRecord[],
  report: Report,
): Promise<void> {
  const keys = await engine.snapshot((tx) => listPlatformKeys(tx));
  const publicKeys = await checkSigningKeys(keys, report);
  const production = new Map(instances.map(({ id, tenants }) => [id, tenants.production]));
  for (const [at, record] of (await engine.snapshot((tx) => listPlatformAnchors(tx))).entries()) {
    const name = `platform anchor ${at + 1}`;
    if (record.number !== at + 1) report(name, `says that it is number ${record.number}`);
    const { anchor } = record;
    const isSigned = isSignedBy(anchor, publicKeys) && verifyPlatformAnchor(anchor);
    if (!isSigned) report(name, "its signature is not one of the platform");
    await checkInstances(engine, { name, record, production }, report);
  }
}

interface NamedInstances {
  readonly name: string;
  readonly record: PlatformRecord;
  readonly production: ReadonlyMap<string, number>;
}

async function checkInstances(
  engine: Pick<Engine, "snapshot">,
  { name, record: { anchor, instances }, production }: NamedInstances,
  report: Report,
): Promise<void> {
  const roots = instances.map(({ merkle_root }) => merkle_root);
  const isWhole = roots.length === anchor.instance_count &&
    merkleRoot(roots) === anchor.merkle_root;
  if (!isWhole) report(name, "its instances are not those that it signs");
  for (const { instance_id, anchor_id, merkle_root } of instances) {
    const tenant = production.get(instance_id);
    const found = tenant === undefined
      ? undefined
      : await engine.snapshot((tx) => readAnchor(tx, tenant, String(anchor_id)));
    if (found?.anchor.merkle_root !== merkle_root) {
      report(name, `the anchor ${anchor_id} of ${instance_id} is not the one that it names`);
    }
  }
}
