/** One saga with its history: `GET /_sagas/{saga_id}`. */

import type { JsonObject } from "../../domain/json.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { type SagaView, viewSaga } from "../../domain/saga/view.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import { readSaga as readRecord, readSagaDefinition } from "../../store/sagas/sagas.ts";

/** Longer than any saga id. */
const ID_CHARACTERS_MAX = 64;

export async function readSaga(
  engine: Engine,
  tenant: Tenant,
  id: string,
): Promise<Outcome<SagaView>> {
  const found = id.length > ID_CHARACTERS_MAX ? undefined : await engine.snapshot(async (tx) => {
    const record = await readRecord(tx, tenant.number, id);
    if (record === undefined) return undefined;
    const { instance } = record;
    return viewSaga(
      instance,
      stepNames(await readSagaDefinition(tx, tenant.number, instance.definition)),
    );
  });
  return found ? accept(found) : refuse({ kind: "not_found", message: "There is no such saga" });
}

function stepNames(kept: { readonly saga: JsonObject } | undefined): string[] {
  return (kept?.saga.steps as { name: string }[] | undefined ?? []).map(({ name }) => name);
}
