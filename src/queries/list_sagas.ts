/** Sagas by name and state, the newest first. EXT `GET /_sagas`. */

import { limits } from "../domain/limits.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import type { SagaPage } from "../domain/saga/view.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { Engine } from "../kv/engine.ts";
import { listSagas as listSummaries, type SagaFilter } from "../store/sagas.ts";

export interface ListSagasRequest extends SagaFilter {
  /** As asked for, at least 1; clamped to `limits.listPageMax`. */
  readonly limit?: number;
  /** Exclusive: the page has what is older. */
  readonly start?: string;
}

/** Longer than any id of a saga. */
const START_CHARACTERS_MAX = 64;
/** Longer than any name. */
const NAME_CHARACTERS_MAX = 64;

export async function listSagas(
  engine: Engine,
  tenant: Tenant,
  { name, state, ...page }: ListSagasRequest,
): Promise<Outcome<SagaPage>> {
  const { start } = page;
  if (start !== undefined && start.length > START_CHARACTERS_MAX) {
    const message = `start must be at most ${START_CHARACTERS_MAX} characters`;
    return refuse({ kind: "bad_request", message, path: "start" });
  }
  const asked = page.limit ?? limits.listPageDefault;
  const limit = Math.min(asked, limits.listPageMax);
  const isName = name === undefined || (name !== "" && name.length <= NAME_CHARACTERS_MAX);
  // One more than the page tells exactly whether anything follows it.
  const found = !isName
    ? []
    : await engine.snapshot((tx) =>
      listSummaries(tx, tenant.number, { name, state }, { start, limit: limit + 1 })
    );
  const data = found.slice(0, limit);
  const truncated = found.length > limit;
  return accept({
    data,
    limit,
    truncated,
    next_start: truncated ? data.at(-1)!.saga_id : undefined,
    limit_clamped: asked > limit ? true : undefined,
  });
}
