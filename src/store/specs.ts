/** Deployed specs: every version of a tenant, and which one is current. */

import { assert } from "../domain/assert.ts";
import type { SpecVersion } from "../domain/spec/deployment.ts";
import type { Bytes, KeyValue, ReadTransaction, Transaction } from "../kv/engine.ts";
import { keyAfter, keys } from "./keys.ts";
import { setLargeValue, wholeBytes, wholeValue } from "./large_value.ts";
import { parseJson } from "../domain/json_text/parse_json.ts";

/** A version with its document as the text that is stored. */
export interface SpecText extends SpecVersion {
  readonly text: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** The current version; undefined before the first deploy. */
export async function readCurrentVersion(tx: Reads, tenant: number): Promise<number | undefined> {
  const value = await tx.get(keys.currentSpec(tenant));
  return value && Number(decoder.decode(value));
}

/**
 * Whether the spec with that hash is the current one (`""`: there is none). Guarded: a
 * transaction that relies on it does not commit if a deploy comes between.
 */
export async function isCurrentSpec(tx: Reads, tenant: number, hash: string): Promise<boolean> {
  return await readCurrentHash(tx, tenant) === hash;
}

/** The hash of the current spec, by two small reads; `""` before the first deploy. */
export async function readCurrentHash(tx: Reads, tenant: number): Promise<string> {
  const version = await readCurrentVersion(tx, tenant);
  if (version === undefined) return "";
  const header = await tx.get(keys.spec(tenant, version));
  assert(header !== undefined, "the current spec is kept");
  return decodeVersion(header).spec_hash;
}

/** The current version without its document; undefined before the first deploy. */
export async function readCurrentSpecVersion(
  tx: Reads,
  tenant: number,
): Promise<SpecVersion | undefined> {
  const version = await readCurrentVersion(tx, tenant);
  if (version === undefined) return undefined;
  const header = await tx.get(keys.spec(tenant, version));
  assert(header !== undefined, "the current spec is kept");
  return decodeVersion(header);
}

/** The current version with the text of its document; undefined before the first deploy. */
export async function readCurrentSpecText(
  tx: Reads,
  tenant: number,
): Promise<SpecText | undefined> {
  const version = await readCurrentSpecVersion(tx, tenant);
  return version && { ...version, text: await readSpecText(tx, tenant, version.version) };
}

/** The document of one version, as it is stored. */
export async function readSpecText(tx: Reads, tenant: number, version: number): Promise<string> {
  const { key, value } = await readDocument(tx, tenant, version);
  return decoder.decode(await wholeValue(tx, tenant, key, value));
}

/** How many bytes {@link readSpecText} has. Of a long document, nothing is read. */
export async function readSpecBytes(tx: Reads, tenant: number, version: number): Promise<number> {
  return wholeBytes((await readDocument(tx, tenant, version)).value);
}

/** The document, or the header of one in pieces. */
async function readDocument(tx: Reads, tenant: number, version: number): Promise<KeyValue> {
  const key = keys.specDocument(tenant, version);
  const value = await tx.get(key);
  assert(value !== undefined, "every version of a spec is kept");
  return { key, value };
}

/** Versions, oldest first: at most `limit`, after the version `after`. */
export async function listSpecVersions(
  tx: Reads,
  tenant: number,
  limit?: number,
  after?: number,
): Promise<SpecVersion[]> {
  const { begin, end } = keys.specs(tenant);
  const start = after === undefined ? begin : keyAfter(keys.spec(tenant, after));
  const pairs = await tx.getRange({ begin: start, end }, limit ? { limit } : {});
  return pairs.map(({ value }) => decodeVersion(value));
}

/** Stores a new version, makes it current and tells every node that watches. */
export function storeSpec(
  tx: Transaction,
  tenant: number,
  version: SpecVersion,
  text: string,
): void {
  keepSpec(tx, tenant, version, text);
  makeSpecCurrent(tx, tenant, version.version);
}

/** Stores a version without making it current; `text` is its document as it is to be kept. */
export function keepSpec(
  tx: Transaction,
  tenant: number,
  { version, spec_hash, created_at }: SpecVersion,
  text: string,
): void {
  const header = encoder.encode(JSON.stringify({ version, spec_hash, created_at }));
  tx.set(keys.spec(tenant, version), header);
  setLargeValue(tx, tenant, keys.specDocument(tenant, version), encoder.encode(text));
}

/** Makes a stored version current and tells every node that watches. */
export function makeSpecCurrent(tx: Transaction, tenant: number, version: number): void {
  tx.set(keys.currentSpec(tenant), encoder.encode(String(version)));
  tellSpecChange(tx);
}

/** Makes every node look again which spec is current, and what it calls. */
export function tellSpecChange(tx: Transaction): void {
  tx.add(keys.specVersion(), 1n);
}

/** A count, in hex, of the changes of specs of all environments; "" before the first. */
export async function readSpecChanges(tx: Pick<ReadTransaction, "get">): Promise<string> {
  return (await tx.get(keys.specVersion()))?.toHex() ?? "";
}

function decodeVersion(value: Bytes): SpecVersion {
  return parseJson(decoder.decode(value)) as SpecVersion;
}
