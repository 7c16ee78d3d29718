/** Imports of events by operators, bound to one engine and one host. */

import {
  importEvents,
  type ImportOutcome,
  type ImportParts,
  type ImportRequest,
} from "./import_events.ts";
import { refuseBusy } from "./import_faults.ts";
import { endOf, openImportPlaces } from "./import_places.ts";
import type { ImportView } from "../../domain/import/progress.ts";
import type { PageRequest } from "../../domain/reading.ts";
import type { Outcome } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import { formatUuid } from "../../domain/uuid.ts";
import { type ImportPage, listImports, readImport } from "./list_imports.ts";

export interface ImportService {
  /** Without an `importId` a new one is made and returned in the answer. */
  run(
    tenant: Tenant,
    request: Omit<ImportRequest, "importId"> & { readonly importId?: string },
  ): Promise<ImportOutcome>;
  list(tenant: Tenant, page: PageRequest): Promise<Outcome<ImportPage>>;
  read(tenant: Tenant, id: string): Promise<Outcome<ImportView>>;
  /** Ends the imports under way, each with the events it has taken in; refuses new ones. */
  stop(): void;
}

const UUID_BYTES = 16;

export function createImports(parts: Omit<ImportParts, "stopping">): ImportService {
  const stop = new AbortController();
  const { engine, host } = parts;
  const places = openImportPlaces(host.monotonicMs);

  return {
    async run(tenant, request) {
      const place = stop.signal.aborted ? undefined : places.take(tenant.instanceId);
      if (place === undefined) return refuseBusy();
      const stopping = AbortSignal.any([stop.signal, place.ending]);
      const pieces: ImportRequest["pieces"] = (signal) => place.watch(request.pieces(signal));
      try {
        const importId = request.importId ?? formatUuid(host.randomBytes(UUID_BYTES));
        const asked = { ...request, importId, pieces };
        const outcome = await importEvents({ ...parts, stopping }, tenant.number, asked);
        const end = endOf(place.ending);
        return outcome.ok || end === undefined ? outcome : { ...outcome, ...end };
      } finally {
        place.leave();
      }
    },
    list: (tenant, page) => listImports(engine, tenant.number, page),
    read: (tenant, id) => readImport(engine, tenant.number, id),
    stop: () => stop.abort(),
  };
}
