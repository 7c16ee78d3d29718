/** Lists sagas by name and state, newest first: `GET /_sagas`. */

import { checkStart, cutPage, pageLimit } from "../../domain/list_page.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import type { SagaPage } from "../../domain/saga/view.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import { listSagas as listSummaries, type SagaFilter } from "../../store/sagas/sagas.ts";

export interface ListSagasRequest extends SagaFilter {
  /** As requested, at least 1; clamped to `limits.listPageMax`. */
  readonly limit?: number;
  /** Exclusive: the page holds older sagas. */
  readonly start?: string;
}

/** Longer than any saga id. */
const START_CHARACTERS_MAX = 64;
/** Longer than any name. */
const NAME_CHARACTERS_MAX = 64;

export async function listSagas(
  engine: Engine,
  tenant: Tenant,
  { name, state, start, limit }: ListSagasRequest,
): Promise<Outcome<SagaPage>> {
  const checked = checkStart(start, START_CHARACTERS_MAX);
  if (!checked.ok) return checked;
  const isName = name === undefined || (name !== "" && name.length <= NAME_CHARACTERS_MAX);
  const found = !isName
    ? []
    : await engine.snapshot((tx) =>
      listSummaries(tx, tenant.number, { name, state }, { start, limit: pageLimit(limit) + 1 })
    );
  return accept(cutPage(found, limit, ({ saga_id }) => saga_id));
}
