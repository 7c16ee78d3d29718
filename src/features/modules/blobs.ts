/**
 * Stores an uploaded module as the next version of its blob, and lists the versions of all
 * blobs. See docs/reference/modules.md.
 *
 * Calls that name no version switch to the new one. On the node that answers the upload, they
 * do so in every fold and write that begins after the answer. Other nodes follow as soon as
 * they hear of it: at once by a watch, and within five seconds in any case. A fold or write
 * that began before ends with the old version.
 */

import { hash } from "node:crypto";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { callsOfLatest, checkTakeOver } from "../../domain/spec/bind_blobs.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import type { Tenant } from "../../domain/tenant.ts";
import {
  BLOB_NAME_HINT,
  type BlobVersion,
  isBlobName,
  parseReference,
  referenceText,
} from "../../domain/wasm/blob.ts";
import type { Host } from "../../host.ts";
import type { Bytes, Engine, Transaction } from "../../kv/engine.ts";
import type { SpecCache } from "../base/current_spec.ts";
import type { ModuleRunner } from "./run_modules.ts";
import {
  findBlobByHash,
  listBlobs as listStored,
  readNewestBlob,
  storeBlob,
} from "../../store/blobs.ts";
import { readTenantNumber } from "../../store/access/instances.ts";
import { enqueueTypeRebuild } from "../../store/streams/rebuilds.ts";
import { readCurrentHash, tellSpecChange } from "../../store/specs.ts";
import { type ListPage, listPage, pageLimit } from "../../domain/list_page.ts";

export interface UploadParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
  readonly modules: ModuleRunner;
}

/** Uploading the same bytes again returns the version that they already have. */
export async function uploadBlob(
  { engine, host, specs, modules }: UploadParts,
  tenant: Tenant,
  name: string,
  file: Bytes,
): Promise<Outcome<BlobVersion>> {
  if (!isBlobName(name)) {
    const message = `name must be ${BLOB_NAME_HINT}`;
    return refuse({ kind: "operator_input_invalid", path: "name", message });
  }
  const checked = await modules.check(tenant.number, file);
  if (!checked.ok) {
    const { stop } = checked;
    if (stop.kind !== "unavailable") return refuse({ kind: "module_invalid", violation: TOO_MUCH });
    const { message, retryAfterMs } = stop;
    return refuse({ kind: "modules_unavailable", message, retryAfterMs });
  }
  const check = checked.value;
  if (!check.ok) return refuse({ kind: "module_invalid", violation: check.violation });
  const { module } = check;
  const sha256 = hash("sha256", file, "hex");
  const created_at = new Date(host.nowMs()).toISOString();
  const upload = { name, sha256, exports: module.entrypoints, bytes: file.length, created_at };
  let { number } = tenant;
  try {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      // Compiled before the transaction, because it may be large.
      const spec = await specs.current(number);
      const outcome = await engine.transact(async (tx) => {
        number = await readTenantNumber(tx, tenant);
        if (await readCurrentHash(tx, number) !== spec.hash) return undefined;
        return await keepBlob(tx, number, spec, { upload, file, module: module.bytes });
      });
      if (outcome !== undefined) return outcome;
      specs.forget(number);
    }
  } finally {
    // Also forgotten on an error, because the commit may have landed although its reply was
    // lost.
    specs.forget(number);
  }
  throw new Error("Specs were deployed again and again while a module was uploaded");
}

/** Attempts while specs keep being deployed. */
const TRIES_MAX = 5;

interface BlobToKeep {
  readonly upload: Omit<BlobVersion, "version">;
  readonly file: Bytes;
  readonly module: Bytes;
}

async function keepBlob(
  tx: Transaction,
  tenant: number,
  spec: CompiledSpec,
  { upload, file, module }: BlobToKeep,
): Promise<Outcome<BlobVersion>> {
  const { name, sha256 } = upload;
  const known = await findBlobByHash(tx, tenant, name, sha256);
  if (known !== undefined) return accept(known);
  const version = ((await readNewestBlob(tx, tenant, name))?.version ?? 0) + 1;
  const { exports, bytes, created_at } = upload;
  const blob = { name, version, sha256, exports, bytes, created_at };
  const violations = checkTakeOver(spec, blob);
  if (violations.length > 0) return refuse({ kind: "blob_incompatible", violations });
  storeBlob(tx, tenant, { blob, file, module });
  takeOver(tx, tenant, spec, name);
  return accept(blob);
}

/** For a file whose check takes longer than that of any ordinary module. */
const TOO_MUCH = {
  rule: "module_limit",
  path: "file",
  message: "Checking the module takes too long",
  hint: "Build it smaller, or split it",
};

/** Notifies the nodes and rebuilds the states that the blob's handlers have made. */
function takeOver(tx: Transaction, tenant: number, spec: CompiledSpec, name: string): void {
  const calls = new Set(callsOfLatest(spec, name));
  if (calls.size === 0) return;
  tellSpecChange(tx);
  for (const type of spec.aggregateTypes.values()) {
    const isFoldedAnew = [...type.wasmHandlers.values()].some((call) => calls.has(call));
    if (type.cached && isFoldedAnew) enqueueTypeRebuild(tx, tenant, type.name);
  }
}

export type BlobPage = ListPage<BlobVersion>;

/** A version may have 100 KB of names of exports. */
const PAGE_BYTES = 256 * 1024;

/**
 * Sorted by name and version: at most `limit`, and about as many as fit 256 KiB. `start` is a
 * pinned version: `<name>:v<N>`.
 */
export async function showBlobs(
  engine: Engine,
  tenant: Tenant,
  page: { readonly limit?: number; readonly start?: string },
): Promise<Outcome<BlobPage>> {
  const { limit, start } = page;
  const after = start === undefined ? undefined : parseReference(start);
  if (start !== undefined && after?.version === undefined) {
    return refuse({ kind: "bad_request", path: "start", message: "start must be <name>:v<N>" });
  }
  const cursor = after && { name: after.name, version: after.version! };
  return await engine.snapshot(async (tx) => {
    const range = { limit: pageLimit(limit), bytesMax: PAGE_BYTES, after: cursor };
    const found = await listStored(tx, tenant.number, range);
    const last = found.at(-1);
    const next = last && await listStored(tx, tenant.number, { limit: 1, after: last });
    const nextStart = next?.length === 1 ? referenceText(last!) : undefined;
    return accept(listPage(found, limit, nextStart));
  });
}
