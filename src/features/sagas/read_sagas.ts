/** Lists sagas by name and state, newest first, and reads one with its history: `/_sagas`. */

import { checkStart, cutPage, pageLimit } from "../../domain/list_page.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { type SagaPage, type SagaView, viewSaga } from "../../domain/saga/view.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import {
  listSagas as listSummaries,
  readSaga as readRecord,
  readSagaStepNames,
  type SagaFilter,
} from "../../store/sagas/sagas.ts";

export interface ListSagasRequest extends SagaFilter {
  /** As requested, at least 1; clamped to `limits.listPageMax`. */
  readonly limit?: number;
  /** Exclusive: the page holds older sagas. */
  readonly start?: string;
}

/** Longer than any saga id. */
const ID_CHARACTERS_MAX = 64;
/** Longer than any name. */
const NAME_CHARACTERS_MAX = 64;

export async function showSagas(
  engine: Engine,
  tenant: Tenant,
  { name, state, start, limit }: ListSagasRequest,
): Promise<Outcome<SagaPage>> {
  const checked = checkStart(start, ID_CHARACTERS_MAX);
  if (!checked.ok) return checked;
  const isName = name === undefined || (name !== "" && name.length <= NAME_CHARACTERS_MAX);
  const found = !isName
    ? []
    : await engine.snapshot((tx) =>
      listSummaries(tx, tenant.number, { name, state }, { start, limit: pageLimit(limit) + 1 })
    );
  return accept(cutPage(found, limit, ({ saga_id }) => saga_id));
}

export async function showSaga(
  engine: Engine,
  tenant: Tenant,
  id: string,
): Promise<Outcome<SagaView>> {
  const found = id.length > ID_CHARACTERS_MAX ? undefined : await engine.snapshot(async (tx) => {
    const record = await readRecord(tx, tenant.number, id);
    if (record === undefined) return undefined;
    const { instance } = record;
    return viewSaga(instance, await readSagaStepNames(tx, tenant.number, instance.definition));
  });
  return found ? accept(found) : refuse({ kind: "not_found", message: "There is no such saga" });
}
