/** Lists sagas by name and state, newest first, and reads one with its history: `/_sagas`. */

import { waitForTurn } from "../../domain/fairness/pieces.ts";
import { checkStart, cutPage, pageLimit } from "../../domain/list_page.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { type SagaPage, type SagaView, viewSaga } from "../../domain/saga/view.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import {
  decodeSaga,
  listSagas as listSummaries,
  readStoredSaga,
  type SagaFilter,
} from "../../store/sagas/sagas.ts";
import type { StepNames } from "./step_names.ts";

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

export interface SagaReader {
  readonly engine: Engine;
  readonly host: Host;
  readonly stepNames: StepNames;
}

/** Longer records take long to decode: they have the events that completed their steps. */
const SHORT_BYTES_MAX = 64 * 1024;

export async function showSaga(
  { engine, host, stepNames }: SagaReader,
  tenant: Tenant,
  id: string,
): Promise<Outcome<SagaView>> {
  const stored = id.length > ID_CHARACTERS_MAX
    ? undefined
    : await engine.snapshot((tx) => readStoredSaga(tx, tenant.number, id));
  if (stored === undefined) return refuse({ kind: "not_found", message: "There is no such saga" });
  if (stored.length > SHORT_BYTES_MAX) await waitForTurn(host, false, tenant.instanceId);
  const { instance } = decodeSaga(stored);
  const isWaiting = instance.waiting !== undefined;
  return accept(viewSaga(instance, isWaiting ? await stepNames(tenant, instance.definition) : []));
}
