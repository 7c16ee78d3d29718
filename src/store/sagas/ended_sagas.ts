/**
 * Removes ended sagas after `limits.sagaRetentionSeconds`. They have no index by their end. A
 * saga cannot have ended before it was started, so a walk through the lists from the oldest on
 * is done at the first one that was started too recently.
 */

import { limits } from "../../domain/limits.ts";
import { isEndState, SAGA_STATES, type SagaState } from "../../domain/saga/instance.ts";
import { sagaIdsFrom } from "../../domain/saga/saga_id.ts";
import type { Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { keyAfter, keys } from "../keys.ts";
import { ALL_SAGAS, readSaga, removeSaga } from "./sagas.ts";

/** The saga that was looked at last, as the lists have it. */
export interface EndedSagaPlace {
  readonly state: SagaState;
  readonly id: string;
}

const END_STATES = SAGA_STATES.filter(isEndState);

/**
 * Looks at the next `limit` ended sagas of a tenant, and removes those that ended long enough
 * before `now` (Unix seconds). `next` is where to go on; undefined when the tenant is done.
 */
export async function sweepEndedSagas(
  tx: Transaction,
  tenant: number,
  after: EndedSagaPlace | undefined,
  now: number,
  limit: number,
): Promise<{ readonly removed: number; readonly next: EndedSagaPlace | undefined }> {
  const endedBy = now - limits.sagaRetentionSeconds;
  let removed = 0;
  let looked = 0;
  for (const state of END_STATES.slice(after && END_STATES.indexOf(after.state))) {
    const all = keys.sagaList(tenant, ALL_SAGAS, state);
    const last = after?.state === state ? after.id : undefined;
    const begin = last === undefined
      ? all.begin
      : keyAfter(keys.sagaListed(tenant, ALL_SAGAS, state, last));
    const end = keys.sagaListed(tenant, ALL_SAGAS, state, sagaIdsFrom(endedBy + 1));
    const room = { limit: limit - looked };
    // Unguarded: an ended saga does not change any more.
    const pairs = await tx.unguarded.getRange({ begin, end }, room);
    const ids = pairs.map(({ key }) => unpack(key).at(-1) as string);
    const records = await Promise.all(ids.map((id) => readSaga(tx.unguarded, tenant, id)));
    for (const record of records) {
      if (record === undefined || record.instance.updatedAt > endedBy) continue;
      removeSaga(tx, tenant, record);
      removed++;
    }
    looked += ids.length;
    if (looked >= limit) return { removed, next: { state, id: ids.at(-1)! } };
  }
  return { removed, next: undefined };
}
