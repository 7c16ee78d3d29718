/** Operator imports, bound to one engine and one host. */

import {
  importEvents,
  type ImportOutcome,
  type ImportParts,
  type ImportRequest,
  refuseBusy,
} from "../commands/import/import_events.ts";
import type { ImportView } from "../domain/import/progress.ts";
import { limits } from "../domain/limits.ts";
import type { PageRequest } from "../domain/reading.ts";
import type { Outcome } from "../domain/refusal.ts";
import type { Tenant } from "../domain/tenant.ts";
import { formatUuid } from "../domain/uuid.ts";
import { type ImportPage, listImports, readImport } from "../queries/list_imports.ts";

export interface ImportService {
  /** Without an `importId` it gets one, which the answer tells. */
  run(
    tenant: Tenant,
    request: Omit<ImportRequest, "importId"> & { readonly importId?: string },
  ): Promise<ImportOutcome>;
  list(tenant: Tenant, page: PageRequest): Promise<Outcome<ImportPage>>;
  read(tenant: Tenant, id: string): Promise<Outcome<ImportView>>;
  /** Ends the imports under way, each with what it has taken in; new ones are refused. */
  stop(): void;
}

const UUID_BYTES = 16;

export function createImports(parts: Omit<ImportParts, "stopping">): ImportService {
  const stop = new AbortController();
  const importing: ImportParts = { ...parts, stopping: stop.signal };
  const { engine, host } = parts;
  let underWay = 0;

  return {
    async run(tenant, request) {
      if (underWay >= limits.importsUnderWayMax || stop.signal.aborted) return refuseBusy();
      underWay++;
      try {
        const importId = request.importId ?? formatUuid(host.randomBytes(UUID_BYTES));
        return await importEvents(importing, tenant.number, { ...request, importId });
      } finally {
        underWay--;
      }
    },
    list: (tenant, page) => listImports(engine, tenant.number, page),
    read: (tenant, id) => readImport(engine, tenant.number, id),
    stop: () => stop.abort(),
  };
}
