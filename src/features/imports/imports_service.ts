/** Imports of events by operators, bound to one engine and one host. */

import {
  importEvents,
  type ImportOutcome,
  type ImportParts,
  type ImportRequest,
} from "./import_events.ts";
import { refuseBusy } from "./import_faults.ts";
import { endOf, openImportPlaces } from "./import_places.ts";
import { type ImportView, isImportId, viewImport } from "../../domain/import/progress.ts";
import type { PageRequest } from "../../domain/reading.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import { formatUuid } from "../../domain/uuid.ts";
import { cutPage, type ListPage, pageLimit } from "../../domain/list_page.ts";
import type { Engine } from "../../kv/engine.ts";
import { listImports as listStored, readImport as readStored } from "../../store/imports.ts";

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

type ImportPage = ListPage<ImportView>;

/** A page of the environment's imports, sorted by id. */
async function listImports(
  engine: Engine,
  tenant: number,
  { start, limit }: PageRequest,
): Promise<Outcome<ImportPage>> {
  if (start !== undefined && !isImportId(start)) {
    return refuse({ kind: "bad_request", message: "start must be an import id", path: "start" });
  }
  const found = await engine.snapshot((tx) =>
    listStored(tx, tenant, { start, limit: pageLimit(limit) + 1 })
  );
  return accept(cutPage(found.map(viewImport), limit, ({ import_id }) => import_id));
}

async function readImport(
  engine: Engine,
  tenant: number,
  id: string,
): Promise<Outcome<ImportView>> {
  const found = isImportId(id)
    ? await engine.snapshot((tx) => readStored(tx, tenant, id))
    : undefined;
  if (found !== undefined) return accept(viewImport(found));
  return refuse({ kind: "not_found", message: "Import not found" });
}
