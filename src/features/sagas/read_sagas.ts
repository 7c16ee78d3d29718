/** Lists sagas by name and state, newest first, and reads one with its history: `/_sagas`. */

import { waitForTurn } from "../../domain/fairness/pieces.ts";
import { createRecentTexts } from "../../domain/recent_map.ts";
import { checkStart, cutPage, pageLimit } from "../../domain/list_page.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { type SagaPage, type SagaView, viewSaga } from "../../domain/saga/view.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import {
  decodeSaga,
  listSagas as listSummaries,
  readSagaStepNames,
  readStoredSaga,
  type SagaFilter,
} from "../../store/sagas/sagas.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

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

/**
 * The names of a definition's steps, in order, by the definition's hash. A definition may have a
 * megabyte, of which an answer needs one name. It never changes, so it is read once, and reads that
 * come meanwhile wait for that.
 */
export type StepNames = (tenant: Tenant, definition: string) => Promise<readonly string[]>;

const KEPT_BYTES_MAX = 4 * 1024 * 1024;
/** About the memory of an entry, and of a name beside its characters. */
const BYTES_OF_ENTRY = 500;
const BYTES_OF_NAME = 40;

export function openStepNames(engine: Pick<Engine, "snapshot">, host: Host): StepNames {
  const kept = createRecentTexts<readonly string[]>(KEPT_BYTES_MAX, bytesOf);
  const underWay = new TextMap<Promise<readonly string[]>>();

  async function read(
    place: string,
    { number, instanceId }: Tenant,
    definition: string,
  ): Promise<readonly string[]> {
    try {
      // A large definition is decoded in one piece, so each has a turn of its own.
      await waitForTurn(host, false, instanceId);
      const names = await engine.snapshot((tx) => readSagaStepNames(tx, number, definition));
      if (names.length > 0) kept.set(place, names);
      return names;
    } finally {
      underWay.delete(place);
    }
  }

  return (tenant, definition) => {
    const place = `${tenant.number}/${definition}`;
    const known = kept.get(place);
    if (known !== undefined) return Promise.resolve(known);
    let reading = underWay.get(place);
    if (reading === undefined) underWay.set(place, reading = read(place, tenant, definition));
    return reading;
  };
}

function bytesOf(names: readonly string[]): number {
  return names.reduce((sum, { length }) => sum + BYTES_OF_NAME + 2 * length, BYTES_OF_ENTRY);
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
