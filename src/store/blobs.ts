/**
 * Uploaded modules by name and version. A version never changes and is never removed, so
 * whatever was folded with it can be folded again.
 */

import { assert } from "../domain/assert.ts";
import type { Pieces } from "../domain/fairness/pieces.ts";
import type { FoundBlob } from "../domain/spec/bind_blobs.ts";
import { type BlobReference, type BlobVersion, referenceText } from "../domain/wasm/blob.ts";
import type { Bytes, ReadTransaction, Transaction } from "../kv/engine.ts";
import { decodeRecord, encodeRecord } from "./json_record.ts";
import { keyAfter, keys } from "./keys.ts";
import { setLargeValue, wholeValue } from "./large_value.ts";
import { TextMap } from "../domain/lookup/text_map.ts";

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** What each reference stands for now, by its text. Costs one small read for each. */
export async function findBlobs(
  tx: Reads,
  tenant: number,
  references: Iterable<BlobReference>,
): Promise<TextMap<FoundBlob>> {
  const wanted = byText(references);
  const finding = [...wanted].map(async ([text, reference]) =>
    [text, await findBlob(tx, tenant, reference)] as const
  );
  return new TextMap(await Promise.all(finding));
}

/** Each once. */
function byText(references: Iterable<BlobReference>): TextMap<BlobReference> {
  return new TextMap([...references].map((each) => [referenceText(each), each]));
}

/** References that are looked up at once. */
const REFERENCES_AT_ONCE = 32;

/**
 * The same for a spec that may call thousands of modules, in time slices. It ends once
 * `missingMax` references stand for nothing: those behind them are then left out.
 */
export async function findBlobsInPieces(
  tx: Reads,
  tenant: number,
  references: Iterable<BlobReference>,
  { pieces, missingMax }: { readonly pieces: Pieces; readonly missingMax: number },
): Promise<TextMap<FoundBlob>> {
  const wanted = [...byText(references).values()];
  const found = new TextMap<FoundBlob>();
  let missing = 0;
  for (let at = 0; at < wanted.length && missing < missingMax; at += REFERENCES_AT_ONCE) {
    for (
      const [text, each] of await findBlobs(tx, tenant, wanted.slice(at, at + REFERENCES_AT_ONCE))
    ) {
      found.set(text, each);
      if (each.blob === undefined) missing++;
    }
    await pieces.rest();
  }
  return found;
}

async function findBlob(
  tx: Reads,
  tenant: number,
  { name, version }: BlobReference,
): Promise<FoundBlob> {
  const newest = await readNewestBlob(tx, tenant, name);
  const latest = newest?.version ?? 0;
  if (version === undefined || version === latest) return { blob: newest, latest };
  const value = await tx.get(keys.blob(tenant, name, version));
  return { blob: value && decodeRecord<BlobVersion>(value), latest };
}

export async function readNewestBlob(
  tx: Reads,
  tenant: number,
  name: string,
): Promise<BlobVersion | undefined> {
  const [pair] = await tx.getRange(keys.blobVersions(tenant, name), { limit: 1, reverse: true });
  return pair && decodeRecord<BlobVersion>(pair.value);
}

/** The version of that name that was made from a file with this SHA-256. */
export async function findBlobByHash(
  tx: Reads,
  tenant: number,
  name: string,
  sha256: string,
): Promise<BlobVersion | undefined> {
  const key = await tx.get(keys.blobHash(tenant, name, sha256));
  const value = key && await tx.get(key);
  return value && decodeRecord<BlobVersion>(value);
}

export interface BlobFiles {
  readonly blob: BlobVersion;
  readonly file: Bytes;
  readonly module: Bytes;
}

/** Stores a new version: the file, and the form of it that runs. Both fit one transaction. */
export function storeBlob(
  tx: Transaction,
  tenant: number,
  { blob, file, module }: BlobFiles,
): void {
  const { name, version, sha256 } = blob;
  const key = keys.blob(tenant, name, version);
  tx.set(key, encodeRecord(blob));
  tx.set(keys.blobHash(tenant, name, sha256), key);
  setLargeValue(tx, tenant, keys.blobFile(tenant, name, version), file);
  setLargeValue(tx, tenant, keys.blobModule(tenant, name, version), module);
}

type Named = Pick<BlobVersion, "name" | "version">;

/** The module of an existing version, in the form that runs. */
export function readModule(tx: Reads, tenant: number, { name, version }: Named): Promise<Bytes> {
  return readPart(tx, tenant, keys.blobModule(tenant, name, version));
}

/** The file that a version was made from. */
export function readBlobFile(tx: Reads, tenant: number, { name, version }: Named): Promise<Bytes> {
  return readPart(tx, tenant, keys.blobFile(tenant, name, version));
}

async function readPart(tx: Reads, tenant: number, key: Bytes): Promise<Bytes> {
  const value = await tx.get(key);
  assert(value !== undefined, "every version of a blob is kept");
  return await wholeValue(tx, tenant, key, value);
}

/** How much of a list is read: at most `limit`, and with `bytesMax` about as many bytes. */
export interface BlobRange {
  readonly limit?: number;
  readonly bytesMax?: number;
  readonly after?: Named;
}

/** Versions by name and number, after the version `after`. */
export async function listBlobs(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  { after, limit, bytesMax }: BlobRange = {},
): Promise<BlobVersion[]> {
  const { begin, end } = keys.blobs(tenant);
  const start = after && keyAfter(keys.blob(tenant, after.name, after.version));
  const options = { ...(limit && { limit }), ...(bytesMax && { bytesMax }) };
  const pairs = await tx.getRange({ begin: start ?? begin, end }, options);
  return pairs.map(({ value }) => decodeRecord<BlobVersion>(value));
}
