/**
 * Switches reads to a new version of a projection once it is complete and checked. Complete
 * means that it has all its rows and shows everything that was written while it was built. For
 * the check, a sample of rows is computed again from the events alone, and their SHA-256 must
 * equal that of the rows as stored. The switch is one transaction. If the check fails, the
 * version is built anew.
 */

import { createHash, type Hash } from "node:crypto";
import { openPieces } from "../../domain/fairness/pieces.ts";
import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import type { LogPlace } from "../../domain/feed/place.ts";
import { createRecentTexts } from "../../domain/recent_map.ts";
import type { ProjectionPlace } from "../../domain/projection/ready_projection.ts";
import { openRowBatch } from "./compute_rows.ts";
import type { KeptProjection, ProjectionSet } from "./projection_sets.ts";
import { placeToReach } from "./wait_for_projections.ts";
import { logLooksOf, tellsBehind } from "../base/log_looks.ts";
import {
  listProjections,
  type ProjectionRecord,
  readProjection,
  setProjection,
} from "../../store/projections/projections.ts";
import {
  decodeRow,
  readProjectionRow,
  readProjectionRowKeys,
  type StoredRow,
} from "../../store/projections/projection_rows.ts";
import {
  type BuildProgress,
  clearBuild,
  hasRefresh,
  readBuild,
  setBuild,
} from "../../store/projections/projection_work.ts";
import type { RowParts } from "./refresh_rows.ts";
import { logTypes } from "./settle_projections.ts";

export interface VersionSwitch {
  /**
   * Returns 1 if it has switched, started anew, or checked rows until `endMs` of the monotonic
   * clock; the next call goes on. Returns 0 while the version has to wait.
   */
  tryToSwitch(set: ProjectionSet, version: VersionToSwitch): Promise<number>;
}

export interface VersionToSwitch {
  readonly record: ProjectionRecord;
  readonly kept: KeptProjection;
  readonly progress: BuildProgress;
  readonly endMs: number;
}

/** The sample: this many places in the key space, and this many rows after each. */
const SAMPLE_PLACES = 32;
const SAMPLE_ROWS = 4;
/** A row that changes during its check is checked again this often, then left out. */
const CHECKS_MAX = 5;
/** Checks that are remembered from one round to the next; others begin again. */
const CHECKS_KEPT_MAX = 10_000;
/** The pause before a version that failed its check is built again. */
const RESTART_PAUSE_MS = 10_000;

export function createVersionSwitch(parts: RowParts): VersionSwitch {
  const { engine, host } = parts;
  /** By version: where the log ended when the version was first found to have all its rows. */
  const ends = new Map<string, LogPlace | undefined>();
  const checks = createRecentTexts<SampleCheck>(CHECKS_KEPT_MAX);

  /** Undefined while the version has to wait. */
  async function beginCheck(id: string, kept: KeptProjection): Promise<SampleCheck | undefined> {
    const { tenant } = kept.place;
    const view = await logLooksOf(engine).look(tenant, host);
    const end = ends.get(id) ?? placeToReach(view);
    ends.set(id, end);
    if (end !== undefined && tellsBehind(view, end) !== false) return undefined;
    // Read after that look: the transaction that shows a change also notes its other rows.
    if (await engine.snapshot((tx) => hasRefresh(tx, kept.place))) return undefined;
    ends.delete(id);
    return openCheck(await sampleKeys(parts, kept.place));
  }

  async function tryToSwitch(
    set: ProjectionSet,
    { record: { name }, kept, progress, endMs }: VersionToSwitch,
  ): Promise<number> {
    const { tenant, number, version } = kept.place;
    const id = `${tenant}/${number}/${version}`;
    const check = checks.get(id) ?? await beginCheck(id, kept);
    if (check === undefined) return 0;
    checks.delete(id);
    if (!await checkSample(parts, set, { kept, check, endMs })) {
      checks.set(id, check);
      return 1;
    }
    const { rows } = check;
    if (check.stored.digest("hex") !== check.computed.digest("hex")) {
      return await beginAnew(kept, progress);
    }
    const isDone = await engine.transact((tx) => switchVersion(tx));
    parts.sets.forget(tenant);
    const fields = { tenant, projection: name, version, rows: progress.rows, checked: rows };
    if (isDone) host.log("info", "A version of a projection is read from now on", fields);
    return isDone ? 1 : 0;

    async function switchVersion(tx: Parameters<typeof setProjection>[0]): Promise<boolean> {
      if (!await parts.sets.isCurrent(tx, set)) return false;
      const record = await readProjection(tx, tenant, name);
      const { building, ready, isStale: _, ...rest } = record ?? {} as ProjectionRecord;
      if (building?.version !== version) return false;
      const removing = ready === undefined ? rest.removing : [...rest.removing, ready.version];
      const after = { ...rest, removing, ready: building };
      setProjection(tx, tenant, after);
      clearBuild(tx, kept.place);
      const all = await listProjections(tx, tenant, openTransactionPieces(host, tenant));
      const others = all.filter((each) => each.name !== name);
      await logTypes(tx, tenant, [...others, after]);
      return true;
    }
  }

  async function beginAnew(
    { place, name }: KeptProjection,
    progress: BuildProgress,
  ): Promise<number> {
    const error = "Rows of the version were not what their events say: it is built again";
    host.log("error", error, { tenant: place.tenant, projection: name, version: place.version });
    await engine.transact(async (tx) => {
      if (await readBuild(tx, place) === undefined) return;
      const nowMs = host.nowMs();
      setBuild(tx, place, {
        isWhole: false,
        rows: 0,
        startedMs: progress.startedMs,
        error,
        restarts: progress.restarts + 1,
        notBeforeMs: nowMs + RESTART_PAUSE_MS,
      });
    });
    return 1;
  }

  return { tryToSwitch };
}

/** A check under way. */
interface SampleCheck {
  /** The rows still to be compared. */
  readonly keys: string[];
  readonly stored: Hash;
  readonly computed: Hash;
  /** How many rows were compared. */
  rows: number;
}

function openCheck(keys: ReadonlySet<string>): SampleCheck {
  const [stored, computed] = [createHash("sha256"), createHash("sha256")];
  return { keys: [...keys], stored, computed, rows: 0 };
}

interface SampleToCheck {
  readonly kept: KeptProjection;
  readonly check: SampleCheck;
  readonly endMs: number;
}

/** Compares the next rows. Returns false if time ran out before all were compared. */
async function checkSample(
  parts: RowParts,
  set: ProjectionSet,
  { kept, check, endMs }: SampleToCheck,
): Promise<boolean> {
  const { keys, stored, computed } = check;
  for (let key = keys.pop(); key !== undefined; key = keys.pop()) {
    if (await hashRow(parts, set, kept, { key, stored, computed })) check.rows++;
    await parts.host.yieldTurn();
    if (keys.length > 0 && parts.host.monotonicMs() >= endMs) return false;
  }
  return true;
}

/** Most ids are random, so random strings are spread about evenly among them. */
async function sampleKeys(
  { engine, host }: RowParts,
  place: ProjectionPlace,
): Promise<Set<string>> {
  const keys = new Set<string>();
  for (let at = 0; at < SAMPLE_PLACES; at++) {
    // The first rows belong to every sample.
    const after = at === 0 ? undefined : host.randomBytes(4).toHex();
    const page = { after, limit: SAMPLE_ROWS };
    const found = await engine.snapshot((tx) => readProjectionRowKeys(tx, place, page));
    for (const key of found) keys.add(key);
  }
  return keys;
}

interface RowHashes {
  readonly key: string;
  readonly stored: Hash;
  readonly computed: Hash;
}

/** Returns false if the row was left out, because it has an error or keeps changing. */
async function hashRow(
  { engine, host, reader }: RowParts,
  { tenant, spec }: ProjectionSet,
  { place, projection }: KeptProjection,
  { key, stored, computed }: RowHashes,
): Promise<boolean> {
  for (let check = 0; check < CHECKS_MAX; check++) {
    const before = await engine.snapshot((tx) => readProjectionRow(tx, place, key));
    if (before === undefined || before.error !== undefined) return false;
    const batch = openRowBatch(reader, {
      tenant,
      spec,
      synchronous: true,
      pieces: openPieces(host),
      host,
    });
    const now = await batch.compute(projection, key);
    if ("failure" in now || now.encoded === undefined) return false;
    const after = decodeRow(key, now.encoded.value);
    if (marksOf(before) !== marksOf(after)) continue;
    stored.update(dataOf(before));
    computed.update(dataOf(after));
    return true;
  }
  return false;
}

/** How much of its sources a row shows. */
function marksOf({ generation, position, sources, includes }: StoredRow): string {
  return JSON.stringify([generation, position, sources, includes]);
}

function dataOf({ key, updatedAt, dataJson }: StoredRow): string {
  return JSON.stringify([key, updatedAt]) + dataJson;
}
