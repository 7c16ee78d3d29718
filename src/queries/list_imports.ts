/** Imports of an environment: one, or a page of them by their ids. EXT `GET /_admin/imports`. */

import { type ImportView, isImportId, viewImport } from "../domain/import/progress.ts";
import { limits } from "../domain/limits.ts";
import type { PageRequest } from "../domain/reading.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import type { Engine } from "../kv/engine.ts";
import { listImports as listStored, readImport as readStored } from "../store/imports.ts";

export interface ImportPage {
  readonly data: readonly ImportView[];
  readonly limit: number;
  readonly truncated: boolean;
  readonly next_start?: string;
  readonly limit_clamped?: true;
}

export async function listImports(
  engine: Engine,
  tenant: number,
  { start, limit: asked = limits.listPageDefault }: PageRequest,
): Promise<Outcome<ImportPage>> {
  if (start !== undefined && !isImportId(start)) {
    return refuse({ kind: "bad_request", message: "start must be an import id", path: "start" });
  }
  const limit = Math.min(asked, limits.listPageMax);
  const found = await engine.snapshot((tx) => listStored(tx, tenant, { start, limit: limit + 1 }));
  const data = found.slice(0, limit).map(viewImport);
  const truncated = found.length > limit;
  return accept({
    data,
    limit,
    truncated,
    next_start: truncated ? data.at(-1)!.import_id : undefined,
    limit_clamped: asked > limit ? true : undefined,
  });
}

export async function readImport(
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
