/** The imports of an environment, one by id or a page sorted by id: `GET /_admin/imports`. */

import { cutPage, type ListPage, pageLimit } from "../../domain/list_page.ts";
import { type ImportView, isImportId, viewImport } from "../../domain/import/progress.ts";
import type { PageRequest } from "../../domain/reading.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Engine } from "../../kv/engine.ts";
import {
  listImports as listStored,
  readImport as readStored,
} from "../../store/imports/imports.ts";

export type ImportPage = ListPage<ImportView>;

export async function listImports(
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
