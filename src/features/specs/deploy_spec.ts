/**
 * Deploys a spec: compiles it, compares it with the current one and makes it current. See
 * docs/reference/specs.md.
 *
 * Compiling and comparing run in time slices before the transaction. The transaction switches
 * only if the spec that was compared is still current, so two concurrent deploys cannot both
 * pass against the same predecessor.
 *
 * A permitted deploy reports by name what it cuts off, in dry runs too. These are aggregates whose
 * singleton is removed, writers whose actor or target type is removed, and projections that would
 * read something that is gone.
 */

import { limits } from "../../domain/limits.ts";
import {
  type Pieces,
  runAtOnce,
  runInPieces,
  runWithin,
  type Steps,
  type Turns,
} from "../../domain/fairness/pieces.ts";
import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import {
  accept,
  type Outcome,
  type Refusal,
  refuse,
  type Violation,
} from "../../domain/refusal.ts";
import {
  changesSteps,
  compatibilitySteps,
  cutPartiesSteps,
  removedSteps,
} from "../../domain/spec/compatibility.ts";
import { bindBlobs, checkBlobs, type FoundBlobs } from "../../domain/spec/bind_blobs.ts";
import { checkListenersFor } from "../../domain/spec/listeners.ts";
import { compileSpecSteps } from "../../domain/spec/compile.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import type { DeployedSpec, DeploySpecRequest, SpecVersion } from "../../domain/spec/deployment.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { findBlobsInPieces } from "../../store/blobs.ts";
import { readHead } from "../../store/streams/streams.ts";
import { enqueueTypeRebuild } from "../../store/streams/rebuilds.ts";
import { type SpecCache, WAITING_SPECS_MAX } from "../base/current_spec.ts";
import type { DataChecker } from "./check_data.ts";
import { readTenantNumber } from "../../store/access/instances.ts";
import {
  openWatchedTypes,
  readWatchedRoom,
  type SpecNames,
  specNamesSteps,
  watchTypes,
} from "../../store/reactions/watched_types.ts";
import { readCurrentHash, readCurrentSpecText, storeSpec } from "../../store/specs.ts";
import { streamKey } from "../../domain/identifier.ts";
import { isJsonObject, type JsonObject } from "../../domain/json.ts";
import { jsonTextSteps } from "../../domain/json_text_steps.ts";
import { parseJsonSteps } from "../../domain/parse_json_steps.ts";
import { compileProjection } from "../../domain/projection/compile.ts";
import { joinKey, shorten } from "../../domain/spec/fault_list.ts";
import {
  listProjections,
  newestVersion,
  type ProjectionRecord,
} from "../../store/projections/projections.ts";

/** Attempts of one deploy while other deploys keep getting in first. */
const TRIES_MAX = 5;
const TOO_MANY_DEPLOYS: Refusal = {
  kind: "no_room",
  message: `${WAITING_SPECS_MAX} specs for this environment are waiting to be compiled; ` +
    "send this one again",
};

export interface DeployTools {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
  /** Absent: no request asks for stored data. */
  readonly checker?: DataChecker;
}

/**
 * Deploying the current spec again changes nothing. A dry run reports what would happen and
 * changes nothing either.
 */
export async function deploySpec(
  { engine, host, specs, checker }: DeployTools,
  tenant: Tenant,
  request: DeploySpecRequest,
  allowPrivateWebhooks = false,
): Promise<Outcome<DeployedSpec>> {
  if (request.force && tenant.environment === "production") {
    const message = "force is not allowed in production: a production spec stays compatible";
    return refuse({ kind: "forbidden", message });
  }
  const compiled = await specs.compile(tenant.number, request.spec);
  if (compiled === undefined) return refuse(TOO_MANY_DEPLOYS);
  if (!compiled.ok) return refuse({ kind: "spec_invalid", violations: compiled.violations });
  const { spec, warnings } = compiled;
  const { environment } = tenant;
  const places = checkListenersFor(spec.listeners.values(), environment, allowPrivateWebhooks);
  if (places.length > 0) return refuse({ kind: "spec_invalid", violations: places });
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const scene = await engine.snapshot((tx) => readScene(tx, tenant, spec, host));
    const { before, uncallable } = scene;
    if (before?.version.spec_hash !== spec.hash && uncallable.length > 0) {
      return refuse({ kind: "spec_invalid", violations: uncallable });
    }
    const compared = await compare(host, specs, tenant, { before, spec, request });
    if (!compared.ok) return compared;
    const outcome = await commit(
      { engine, host, specs },
      { tenant, request, spec },
      compared.value,
    );
    if (outcome === undefined) continue;
    if (!outcome.ok) return outcome;
    const broken = await runInPieces(findBrokenProjections(scene.projections, spec), host);
    const all = [...broken, ...scene.cuts, ...warnings].slice(0, limits.violationsMax);
    const deployed = { ...outcome.value, warnings: all };
    if (!request.checkData || checker === undefined) return accept(deployed);
    const checked = await checker.check(tenant, spec);
    return checked.ok ? accept({ ...deployed, data_check: checked.value }) : checked;
  }
  throw new Error("Other specs were deployed again and again while one was");
}

/** Reads the current spec, which modules the new one could not call, and what it cuts off. */
async function readScene(
  tx: ReadTransaction,
  tenant: Tenant,
  spec: CompiledSpec,
  turns: Turns,
) {
  const { moduleCalls } = spec;
  const number = await readTenantNumber(tx, tenant);
  const current = await readCurrentSpecText(tx, number);
  const pieces = openTransactionPieces(turns, number);
  const blobs = await findCalled(tx, number, spec, pieces);
  const uncallable = checkBlobs(moduleCalls, blobs);
  if (current === undefined) return { before: undefined, uncallable, cuts: [], projections: [] };
  const { text, ...version } = current;
  if (version.spec_hash === spec.hash) {
    // Nothing is compared.
    return { before: { version, document: {} }, uncallable, cuts: [], projections: [] };
  }
  const before: SpecBefore = { version, document: await runWithin(pieces, parseJsonSteps(text)) };
  const both = { before: before.document, after: spec.document, pieces };
  const cuts = await findCuts(tx, number, both);
  return { before, uncallable, cuts, projections: await listProjections(tx, number, pieces) };
}

/** The modules that a spec calls, as far as they are needed to tell which ones are missing. */
function findCalled(
  tx: ReadTransaction,
  tenant: number,
  { moduleCalls }: CompiledSpec,
  pieces: Pieces,
): Promise<FoundBlobs> {
  const bounds = { pieces, missingMax: limits.violationsMax };
  return findBlobsInPieces(tx, tenant, moduleCalls.map(({ blob }) => blob), bounds);
}

/** The spec that is current, with its document unless it is the same as the new one. */
interface SpecBefore {
  readonly version: SpecVersion;
  readonly document: JsonObject;
}

/** How a new spec differs from the spec that was current at the time of the comparison. */
interface Comparison {
  readonly before: SpecVersion | undefined;
  readonly changes: readonly string[];
  /** Aggregate types whose fold changes. */
  readonly changedTypes: readonly string[];
  /** What it watches; absent if the spec is the current one. */
  readonly names?: SpecNames;
}

interface SpecsToCompare {
  readonly before: SpecBefore | undefined;
  readonly spec: CompiledSpec;
  readonly request: DeploySpecRequest;
}

/** Runs in time slices and outside any transaction, because the documents may be large. */
async function compare(
  host: Host,
  specs: SpecCache,
  { number }: Tenant,
  { before: current, spec, request: { force } }: SpecsToCompare,
): Promise<Outcome<Comparison>> {
  const { version: before, document } = current ?? {};
  if (before?.spec_hash === spec.hash) return accept({ before, changes: [], changedTypes: [] });
  const violations = document === undefined || force
    ? []
    : await runInPieces(compatibilitySteps(document, spec.document), host);
  if (violations.length > 0) return refuse({ kind: "spec_incompatible", violations });
  const changes = await runInPieces(changesSteps(document, spec.document), host);
  let old = before && specs.known(number, before.spec_hash);
  if (before !== undefined && old === undefined) {
    // Compiling fails only if an earlier version of the service accepted a spec that this one
    // refuses.
    const compiled = await runInPieces(compileSpecSteps(document, "store"), host);
    if (compiled.ok) old = compiled.spec;
  }
  const names = await runInPieces(specNamesSteps(spec, old), host);
  const changed = before === undefined ? [] : changedTypes(old, spec);
  return accept({ before, changes, changedTypes: changed, names });
}

interface Deploy {
  readonly tenant: Tenant;
  readonly request: DeploySpecRequest;
  readonly spec: CompiledSpec;
}

/** Returns undefined if another spec has become current since the comparison. */
async function commit(
  { engine, host, specs }: DeployTools,
  { tenant, request, spec: unbound }: Deploy,
  { before, changes, changedTypes, names }: Comparison,
): Promise<Outcome<Omit<DeployedSpec, "warnings">> | undefined> {
  const created_at = new Date(host.nowMs()).toISOString();
  const isStored = !request.dryRun && before?.spec_hash !== unbound.hash;
  const text = isStored ? await runInPieces(jsonTextSteps(unbound.document, Infinity), host) : "";
  if (isStored) await specs.measure(unbound.document, text);
  const outcome = await engine.transact(async (tx) => {
    const number = await readTenantNumber(tx, tenant);
    if (await readCurrentHash(tx, number) !== (before?.spec_hash ?? "")) return undefined;
    if (names === undefined) return accept({ ...describe(before!, []), spec: unbound });
    const pieces = openTransactionPieces(host, number);
    const blobs = await findCalled(tx, number, unbound, pieces);
    const uncallable = checkBlobs(unbound.moduleCalls, blobs);
    if (uncallable.length > 0) return refuse({ kind: "spec_invalid", violations: uncallable });
    const { watched, violations } = await readWatchedRoom(tx, number, names, pieces);
    if (violations.length > 0) return refuse({ kind: "spec_invalid", violations });
    const spec = bindBlobs(unbound, blobs);
    const version = (before?.version ?? 0) + 1;
    const next = { version, spec_hash: spec.hash, created_at };
    if (isStored) {
      storeSpec(tx, number, next, text);
      // From this commit on, events that start a saga or end its wait go to the outbox.
      watchTypes(tx, number, watched, { sagas: names.sagas });
      for (const type of changedTypes) enqueueTypeRebuild(tx, number, type);
    }
    return accept({ ...describe(next, changes), spec });
  }).catch((error) => {
    // The commit may have landed although its reply was lost.
    specs.forget(tenant.number);
    throw error;
  });
  if (!outcome?.ok) return outcome;
  const { spec, ...deployed } = outcome.value;
  if (!request.dryRun) specs.learn(tenant.number, spec);
  return accept(deployed);
}

function describe(
  { spec_hash, version }: SpecVersion,
  changes: readonly string[],
): Omit<DeployedSpec, "warnings"> {
  return { spec_hash, version, changes };
}

/** The same for a spec that is current already: nothing is refused. */
export async function showToSagas(tx: Transaction, tenant: number, spec: CompiledSpec) {
  const { sagas } = runAtOnce(specNamesSteps(spec));
  watchTypes(tx, tenant, await openWatchedTypes().read(tx, tenant), { sagas });
}

/** Types that the background rebuilds: those newly cached or folded differently. */
function changedTypes(before: CompiledSpec | undefined, after: CompiledSpec): string[] {
  const changed: string[] = [];
  for (const { name, cached, definitionHash } of after.aggregateTypes.values()) {
    const old = before?.aggregateTypes.get(name);
    // A type that was absent or not cached has no snapshots, or only old ones of earlier
    // streams.
    if (cached && !(old?.cached && old.definitionHash === definitionHash)) changed.push(name);
  }
  return changed;
}

/** Streams of removed singletons that one deploy looks up, and how many a warning names. */
const STREAMS_MAX = 500;
const NAMED_MAX = 5;

interface Succession {
  /** The documents of the current spec and of the new one. */
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly pieces: Pieces;
}

/** What the new spec cuts off that existed before; at most `limits.violationsMax` entries. */
async function findCuts(
  tx: ReadTransaction,
  tenant: number,
  { before, after, pieces }: Succession,
): Promise<Violation[]> {
  const removed = await runWithin(pieces, removedSteps(before.singletons, after.singletons));
  const singletons = await findCutSingletons(tx, tenant, before, removed);
  const parties = await runWithin(pieces, cutPartiesSteps(before, after));
  return [...singletons, ...parties].slice(0, limits.violationsMax);
}

async function findCutSingletons(
  tx: ReadTransaction,
  tenant: number,
  before: JsonObject,
  removed: readonly string[],
): Promise<Violation[]> {
  const types = isJsonObject(before.aggregate_types) ? Object.keys(before.aggregate_types) : [];
  const found: Violation[] = [];
  let left = STREAMS_MAX;
  for (const name of removed) {
    const asked = types.slice(0, left);
    left -= asked.length;
    const streams = asked.map((type) => streamKey(type, name));
    const heads = await Promise.all(streams.map((stream) => readHead(tx, tenant, stream)));
    const cut = streams.flatMap((stream, index) => {
      const { length } = heads[index]!;
      return length === 0 ? [] : [`${stream} (${length} ${length === 1 ? "event" : "events"})`];
    });
    found.push(cutSingleton(name, cut, asked.length === types.length));
  }
  return found;
}

function cutSingleton(name: string, streams: readonly string[], isWhole: boolean): Violation {
  const named = streams.slice(0, NAMED_MAX).join(", ");
  const more = streams.length - NAMED_MAX;
  const rest = `${more > 0 ? ` and ${more} more` : ""}${isWhole ? "" : " and maybe others"}`;
  const lost = streams.length > 0
    ? `${named}${rest} can no longer be read or written`
    : isWhole
    ? "no aggregate of that id has events"
    : "its aggregates, if it has any, can no longer be read or written";
  return {
    rule: "singleton_removed",
    path: "singletons",
    message: `Singleton "${shorten(name)}" is removed: ${lost}, and it is no actor or target id.`,
    hint: "Declare it as long as it is used; declared again, its aggregates are there again.",
  };
}

/** Projections that no longer fit the spec; at most `limits.violationsMax` entries. */
function* findBrokenProjections(
  records: readonly ProjectionRecord[],
  spec: CompiledSpec,
): Steps<Violation[]> {
  const found: Violation[] = [];
  for (const record of records) {
    if (record.isDeleted || record.broken !== undefined) continue;
    yield;
    const compiled = compileProjection(newestVersion(record).document, spec, "store");
    const fault = compiled.ok ? undefined : compiled.violations[0];
    if (fault === undefined) continue;
    found.push({
      rule: "projection_broken",
      path: joinKey("projections", record.name),
      message: `Projection "${record.name}" breaks: ${fault.path}: ${fault.message}`,
      hint: "Keep what it reads; or deploy a projection of that name that does without it, or " +
        "delete it. Until then its reads are 503, but with stale=true.",
    });
  }
  return found;
}
