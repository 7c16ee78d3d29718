/**
 * Definitions of projections and their versions. A version is built beside the one that is read
 * and replaces it in one transaction. A transfer carries the documents; the receiving store
 * builds the rows again.
 */

import { assert } from "../../domain/assert.ts";
import type { Pieces } from "../../domain/fairness/pieces.ts";
import type { JsonObject } from "../../domain/json.ts";
import type {
  Column,
  ProjectionPlace,
  ReadyProjection,
} from "../../domain/projection/ready_projection.ts";
import type { Bytes, RangeOptions, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keyAfter, keys } from "../keys.ts";

/** A version of a projection, and what it was made from. */
export interface ProjectionVersion {
  readonly version: number;
  readonly document: JsonObject;
  readonly columns: readonly Column[];
  /** Aggregate types that it reads. */
  readonly types: readonly string[];
  /** The parts of the spec that decide its rows (`domain/projection/basis.ts`). */
  readonly basis: string;
}

export interface ProjectionRecord {
  readonly name: string;
  /** Never given to another projection of the environment. */
  readonly number: number;
  /** The number of the newest version. */
  readonly versions: number;
  /** The version that is read. */
  readonly ready?: ProjectionVersion;
  /** The version that will replace it. */
  readonly building?: ProjectionVersion;
  /** Versions whose rows are being removed. */
  readonly removing: readonly number[];
  /** Why the newest document does not fit the current spec; nothing is kept up to date then. */
  readonly broken?: string;
  /** Set if the version that is read has not been kept up to date for a time. */
  readonly isStale?: true;
  /** Whether it is deleted. The record is removed once nothing else of the projection is left. */
  readonly isDeleted: boolean;
  /** ISO 8601. */
  readonly deployed_at: string;
}

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** The version of one projection that can be read. */
export async function readReadyProjection(
  tx: Reads,
  tenant: number,
  name: string,
): Promise<ReadyProjection | undefined> {
  const record = await readProjection(tx, tenant, name);
  return record && readyOf(tenant, record);
}

function readyOf(tenant: number, record: ProjectionRecord): ReadyProjection | undefined {
  const { name, number, ready, broken, isStale, isDeleted } = record;
  if (ready === undefined || isDeleted) return undefined;
  const { version, columns } = ready;
  const found = { tenant, name, number, version, columns };
  return { ...found, ...(broken !== undefined && { broken }), ...(isStale && { isStale }) };
}

export function projectionPlaceOf(
  tenant: number,
  { number }: ProjectionRecord,
  { version }: Pick<ProjectionVersion, "version">,
): ProjectionPlace {
  return { tenant, number, version };
}

export async function readProjection(
  tx: Reads,
  tenant: number,
  name: string,
): Promise<ProjectionRecord | undefined> {
  const value = await tx.get(keys.projection(tenant, name));
  return value && decodeProjection(value);
}

/**
 * The projections behind the name `after`, as {@link listProjections} has them, but each still to
 * be decoded.
 */
export async function listProjectionValues(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  after: string | undefined,
  options: RangeOptions,
): Promise<Bytes[]> {
  const { begin, end } = keys.projections(tenant);
  const start = after === undefined ? begin : keyAfter(keys.projection(tenant, after));
  const pairs = await tx.getRange({ begin: start, end }, options);
  return pairs.map(({ value }) => value);
}

export function decodeProjection(value: Bytes): ProjectionRecord {
  return decodeRecord<ProjectionRecord>(value);
}

/**
 * All projections of an environment by name, deleted ones included. Their documents may be
 * megabytes together.
 */
export async function listProjections(
  tx: Reads,
  tenant: number,
  pieces?: Pieces,
): Promise<ProjectionRecord[]> {
  const pairs = await tx.getRange(keys.projections(tenant));
  const records: ProjectionRecord[] = [];
  for (const { value } of pairs) {
    const rest = pieces?.rest();
    if (rest !== undefined) await rest;
    records.push(decodeProjection(value));
  }
  return records;
}

/**
 * A counter, in hex, of changed definitions and switched versions of the environment; "" before
 * the first.
 */
export async function readProjectionChanges(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
): Promise<string> {
  return (await tx.get(keys.projectionChanges(tenant)))?.toHex() ?? "";
}

/** The caller has read the record, or its absence, in the same transaction. */
export function setProjection(tx: Transaction, tenant: number, record: ProjectionRecord): void {
  keepProjection(tx, tenant, record);
  markProjectionTenant(tx, tenant);
}

/** Like {@link setProjection}, but no worker may work on it before {@link markProjectionTenant}. */
export function keepProjection(tx: Transaction, tenant: number, record: ProjectionRecord): void {
  tx.set(keys.projection(tenant, record.name), encodeRecord(record));
  tx.add(keys.projectionChanges(tenant), 1n);
}

/** From now on, workers look at the environment's projections. */
export function markProjectionTenant(tx: Transaction, tenant: number): void {
  tx.set(keys.projectionTenant(tenant), new Uint8Array(0));
}

export function clearProjection(tx: Transaction, tenant: number, name: string): void {
  tx.clear(keys.projection(tenant, name));
  tx.add(keys.projectionChanges(tenant), 1n);
}

/** Takes the number of a new projection. */
export async function nextProjectionNumber(tx: Transaction, tenant: number): Promise<number> {
  const key = keys.projectionCount(tenant);
  const before = await tx.get(key);
  const number = (before === undefined ? 0 : decodeRecord<{ count: number }>(before).count) + 1;
  tx.set(key, encodeRecord({ count: number }));
  return number;
}

/** Environments that have projections, or still have something of former ones. */
export async function listProjectionTenants(
  tx: Pick<ReadTransaction, "getRange">,
): Promise<number[]> {
  const pairs = await tx.getRange(keys.projectionTenants());
  return pairs.map(({ key }) => unpack(key).at(-1) as number);
}

/** The version that is made from the newest document. */
export function newestVersion({ building, ready }: ProjectionRecord): ProjectionVersion {
  const newest = building ?? ready;
  assert(newest !== undefined, "a projection has a version that is read or built");
  return newest;
}

export function clearProjectionTenant(tx: Transaction, tenant: number): void {
  tx.clear(keys.projectionTenant(tenant));
}
