/** Reads the current spec of an environment and the history of its versions. */

import type { JsonObject } from "../../domain/json.ts";
import { cutPage, type ListPage, pageLimit } from "../../domain/list_page.ts";
import type { PageRequest } from "../../domain/reading.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { SpecVersion } from "../../domain/spec/deployment.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import { listSpecVersions, readCurrentSpec, readCurrentSpecVersion } from "../../store/specs.ts";

export async function readSpec(
  engine: Engine,
  tenant: Tenant,
): Promise<Outcome<SpecVersion & { readonly spec: JsonObject }>> {
  const stored = await engine.snapshot((tx) => readCurrentSpec(tx, tenant.number));
  if (stored !== undefined) return accept(stored);
  const message = `No spec has been deployed to ${tenant.environment} yet`;
  return refuse({ kind: "not_found", message });
}

/** The current version without its document; undefined before the first deploy. */
export async function readSpecVersion(
  engine: Engine,
  tenant: Tenant,
): Promise<SpecVersion | undefined> {
  return await engine.snapshot((tx) => readCurrentSpecVersion(tx, tenant.number));
}

/** Pads versions in cursors so that they sort as numbers. */
const VERSION_DIGITS = 12;

/** Oldest first; empty before the first deploy. `start` is a version in twelve digits. */
export async function listSpecs(
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
