/** Specs and the modules they call, bound to one engine and one host. */

import { createDataChecker } from "./check_data.ts";
import { deploySpec } from "./deploy_spec.ts";
import type { HandlerRunners } from "../states/fold_steps.ts";
import { type BlobPage, showBlobs, uploadBlob, type UploadParts } from "../modules/blobs.ts";
import { count, type Counters } from "../../domain/measures/counters.ts";
import { runInPieces } from "../../domain/fairness/pieces.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { WebhookSettings } from "../../domain/listener/webhook.ts";
import { cutPage, type ListPage, pageLimit } from "../../domain/list_page.ts";
import { parseJsonSteps } from "../../domain/parse_json_steps.ts";
import type { PageRequest } from "../../domain/reading.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { DeployedSpec, DeploySpecRequest, SpecVersion } from "../../domain/spec/deployment.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { BlobVersion } from "../../domain/wasm/blob.ts";
import type { Bytes, Engine, ReadTransaction } from "../../kv/engine.ts";
import {
  listSpecVersions,
  readCurrentSpecText,
  readCurrentSpecVersion,
  readSpecBytes,
  type SpecText,
} from "../../store/specs.ts";

export interface SpecService {
  deploySpec(tenant: Tenant, request: DeploySpecRequest): Promise<Outcome<DeployedSpec>>;
  /** The current document with its version, or a `not_found` refusal. */
  readSpec(tenant: Tenant): Promise<Outcome<SpecVersion & { readonly spec: JsonObject }>>;
  /** The same, with the document as the text that is stored. Nothing is parsed. */
  readSpecText(tenant: Tenant): Promise<Outcome<SpecVersion & { readonly text: string }>>;
  /** The current version and how many bytes its text has, or a `not_found` refusal. */
  measureSpec(tenant: Tenant): Promise<Outcome<SpecVersion & { readonly bytes: number }>>;
  /** The current version; undefined before the first deploy. */
  readSpecVersion(tenant: Tenant): Promise<SpecVersion | undefined>;
  listSpecs(tenant: Tenant, page?: PageRequest): Promise<Outcome<ListPage<SpecVersion>>>;
  /** Stores a WebAssembly module as the next version of the blob `name`. */
  uploadBlob(tenant: Tenant, name: string, file: Bytes): Promise<Outcome<BlobVersion>>;
  listBlobs(tenant: Tenant, page: PageRequest): Promise<Outcome<BlobPage>>;
}

export function createSpecService(
  parts: UploadParts & HandlerRunners & { readonly counters: Counters },
  webhooks: WebhookSettings | undefined,
): SpecService {
  const { engine, host, specs, counters } = parts;
  const checker = createDataChecker(parts, specs);
  return {
    async deploySpec(tenant, request) {
      const { allowPrivate } = webhooks ?? {};
      const outcome = await deploySpec(
        { engine, host, specs, checker },
        tenant,
        request,
        allowPrivate,
      );
      if (!request.dryRun) count(counters.specDeploys, outcome.ok ? "accepted" : "refused");
      return outcome;
    },
    async readSpec(tenant) {
      const found = await readText(engine, tenant);
      if (!found.ok) return found;
      const { text, ...version } = found.value;
      return accept({ ...version, spec: await runInPieces(parseJsonSteps(text), host) });
    },
    readSpecText: (tenant) => readText(engine, tenant),
    measureSpec: (tenant) => readCurrent(engine, tenant, (tx) => measure(tx, tenant.number)),
    readSpecVersion: (tenant) => readSpecVersion(engine, tenant),
    listSpecs: (tenant, page = {}) => listSpecs(engine, tenant, page),
    uploadBlob: (tenant, name, file) => uploadBlob(parts, tenant, name, file),
    listBlobs: (tenant, page) => showBlobs(engine, tenant, page),
  };
}

/** What `read` finds of the current version, or a `not_found` refusal if it is undefined. */
async function readCurrent<T>(
  engine: Engine,
  tenant: Tenant,
  read: (tx: ReadTransaction) => Promise<T | undefined>,
): Promise<Outcome<T>> {
  const found = await engine.snapshot(read);
  if (found !== undefined) return accept(found);
  const message = `No spec has been deployed to ${tenant.environment} yet`;
  return refuse({ kind: "not_found", message });
}

function readText(engine: Engine, tenant: Tenant): Promise<Outcome<SpecText>> {
  return readCurrent(engine, tenant, (tx) => readCurrentSpecText(tx, tenant.number));
}

async function measure(tx: ReadTransaction, tenant: number) {
  const version = await readCurrentSpecVersion(tx, tenant);
  return version && { ...version, bytes: await readSpecBytes(tx, tenant, version.version) };
}

/** The current version without its document; undefined before the first deploy. */
async function readSpecVersion(
  engine: Engine,
  tenant: Tenant,
): Promise<SpecVersion | undefined> {
  return await engine.snapshot((tx) => readCurrentSpecVersion(tx, tenant.number));
}

/** Pads versions in cursors so that they sort as numbers. */
const VERSION_DIGITS = 12;

/** Oldest first; empty before the first deploy. `start` is a version in twelve digits. */
async function listSpecs(
  engine: Engine,
  tenant: Tenant,
  { limit, start }: PageRequest,
): Promise<Outcome<ListPage<SpecVersion>>> {
  if (start !== undefined && !/^\d{12}$/.test(start)) {
    const message = "start must be the next_start of a page: a version in twelve digits";
    return refuse({ kind: "bad_request", path: "start", message });
  }
  const after = start === undefined ? undefined : Number(start);
  const found = await engine.snapshot((tx) =>
    listSpecVersions(tx, tenant.number, pageLimit(limit) + 1, after)
  );
  return accept(cutPage(found, limit, versionCursor));
}

function versionCursor({ version }: SpecVersion): string {
  return String(version).padStart(VERSION_DIGITS, "0");
}
