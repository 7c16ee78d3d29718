/**
 * Remembers the names of the steps of definitions that sagas were started under.
 *
 * A definition may have a megabyte, of which an answer needs one name. It never changes, so it is
 * read once, and reads that come meanwhile wait for that.
 */

import { waitForTurn } from "../../domain/fairness/pieces.ts";
import { createRecentMapBySize } from "../../domain/recent_map.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { readSagaStepNames } from "../../store/sagas/sagas.ts";

/** The names of a definition's steps, in order, by the definition's hash. */
export type StepNames = (tenant: Tenant, definition: string) => Promise<readonly string[]>;

const KEPT_BYTES_MAX = 4 * 1024 * 1024;
/** About the memory of an entry, and of a name beside its characters. */
const BYTES_OF_ENTRY = 500;
const BYTES_OF_NAME = 40;

export function openStepNames(engine: Pick<Engine, "snapshot">, host: Host): StepNames {
  const kept = createRecentMapBySize<string, readonly string[]>(KEPT_BYTES_MAX, bytesOf);
  const underWay = new Map<string, Promise<readonly string[]>>();

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
