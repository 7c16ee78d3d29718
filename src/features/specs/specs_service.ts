/** Specs and the modules they call, bound to one engine and one host. */

import { deploySpec } from "./deploy_spec.ts";
import { uploadBlob, type UploadParts } from "../modules/upload_blob.ts";
import { count, type Counters } from "../../domain/measures/counters.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { WebhookSettings } from "../../domain/listener/sender.ts";
import type { ListPage } from "../../domain/list_page.ts";
import type { PageRequest } from "../../domain/reading.ts";
import type { Outcome } from "../../domain/refusal.ts";
import type { DeployedSpec, DeploySpecRequest, SpecVersion } from "../../domain/spec/deployment.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { BlobVersion } from "../../domain/wasm/blob.ts";
import type { Bytes } from "../../kv/engine.ts";
import { type BlobPage, listBlobs } from "../modules/list_blobs.ts";
import { listSpecs, readSpec, readSpecVersion } from "./read_spec.ts";

export interface SpecService {
  deploySpec(tenant: Tenant, request: DeploySpecRequest): Promise<Outcome<DeployedSpec>>;
  /** The current document with its version, or a `not_found` refusal. */
  readSpec(tenant: Tenant): Promise<Outcome<SpecVersion & { readonly spec: JsonObject }>>;
  /** The current version; undefined before the first deploy. */
  readSpecVersion(tenant: Tenant): Promise<SpecVersion | undefined>;
  listSpecs(tenant: Tenant, page?: PageRequest): Promise<Outcome<ListPage<SpecVersion>>>;
  /** Stores a WebAssembly module as the next version of the blob `name`. */
  uploadBlob(tenant: Tenant, name: string, file: Bytes): Promise<Outcome<BlobVersion>>;
  listBlobs(tenant: Tenant, page: PageRequest): Promise<Outcome<BlobPage>>;
}

export function createSpecService(
  parts: UploadParts & { readonly counters: Counters },
  webhooks: WebhookSettings | undefined,
): SpecService {
  const { engine, host, specs, counters } = parts;
  return {
    async deploySpec(tenant, request) {
      const { allowPrivate } = webhooks ?? {};
      const outcome = await deploySpec(engine, host, specs, tenant, request, allowPrivate);
      if (!request.dryRun) count(counters.specDeploys, outcome.ok ? "accepted" : "refused");
      return outcome;
    },
    readSpec: (tenant) => readSpec(engine, tenant),
    readSpecVersion: (tenant) => readSpecVersion(engine, tenant),
    listSpecs: (tenant, page = {}) => listSpecs(engine, tenant, page),
    uploadBlob: (tenant, name, file) => uploadBlob(parts, tenant, name, file),
    listBlobs: (tenant, page) => listBlobs(engine, tenant, page),
  };
}
