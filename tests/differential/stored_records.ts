/**
 * What a trace leaves in the store: each tenant's pairs, and the deployment's audit records.
 * Equal replies could hide a frontier, a mark or a chunk of a tree that only a later anchor
 * would show.
 *
 * The ledger of keyed writes is left out: its expired entries go when the sweeper reaches them,
 * and a restart begins its round anew. Repeated writes show what the ledger holds.
 */

import { ENVIRONMENTS } from "../../src/domain/tenant.ts";
import type { Bytes, Engine, KeyRange } from "../../src/kv/engine.ts";
import { unpack } from "../../src/kv/tuple.ts";
import type { Access } from "../../src/features/access/access_service.ts";
import { keyAfter, keys } from "../../src/store/keys.ts";
import { accepted, anyOperator } from "../support/access_fixtures.ts";

export interface StoredRecord {
  /** The parts of its key, as JSON. */
  readonly name: string;
  /** In hex. */
  readonly value: string;
}

const PAGE = 1_000;

/** In key order, tenant by tenant. */
export async function* readRecords(engine: Engine, access: Access): AsyncGenerator<StoredRecord> {
  const deployment = [keys.platformKeys(), keys.platformAnchors(), keys.erasures()];
  for (const { id } of accepted(await access.listInstances(anyOperator)).data) {
    deployment.push(keys.signingKeys(id));
    for (const environment of ENVIRONMENTS) {
      const { number } = accepted(await access.resolveTenant(anyOperator, id, environment));
      const [all, ledger] = [keys.tenant(number), keys.ledgers(number)];
      const log = keys.commitLog(number);
      yield* readRange(engine, { begin: all.begin, end: ledger.begin });
      yield* readRange(engine, { begin: ledger.end, end: log.begin });
      yield* readLog(engine, number, log);
      yield* readRange(engine, { begin: log.end, end: all.end });
    }
  }
  for (const range of deployment) yield* readRange(engine, range);
}

/** Records of the commit log by their number: the stamps in their keys are each engine's own. */
async function* readLog(
  engine: Engine,
  tenant: number,
  { begin, end }: KeyRange,
): AsyncGenerator<StoredRecord> {
  const pairs = await engine.snapshot((tx) => tx.getRange({ begin, end }));
  for (const [number, { value }] of pairs.entries()) {
    yield { name: `record ${number} of the log of ${tenant}`, value: value.toHex() };
  }
}

async function* readRange(
  engine: Engine,
  { begin, end }: KeyRange,
): AsyncGenerator<StoredRecord> {
  let from: Bytes = begin;
  for (let count = PAGE; count === PAGE;) {
    const pairs = await engine.snapshot((tx) => tx.getRange({ begin: from, end }, { limit: PAGE }));
    for (const { key, value } of pairs) yield { name: nameOf(key), value: value.toHex() };
    count = pairs.length;
    from = pairs.length > 0 ? keyAfter(pairs.at(-1)!.key) : end;
  }
}

function nameOf(key: Bytes): string {
  return JSON.stringify(
    unpack(key).map((part) => part instanceof Uint8Array ? part.toHex() : part),
  );
}
