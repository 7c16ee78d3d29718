/**
 * The versions of projections that can be read, as this process last saw them.
 *
 * Definitions may be megabytes, and many queries ask what is there. So a definition is read once
 * after a change of any in its environment, and what queries need of it is kept.
 */

import type { Pieces } from "../../domain/fairness/pieces.ts";
import type { ReadyProjection } from "../../domain/projection/ready_projection.ts";
import { createRecentMap, type RecentMap } from "../../domain/recent_map.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { keys } from "../keys.ts";
import { readProjectionChanges, readReadyProjection } from "./projections.ts";
import type { Texts } from "../../domain/lookup/text_map.ts";

export interface ReadyOnes {
  /** The projections that are wanted; absent: all. */
  readonly names?: Texts;
  readonly pieces: Pieces;
}

/** What is known of an environment at one state of its definitions. */
interface KnownVersions {
  readonly changes: string;
  /** All projections by name, also those without a version that can be read. */
  readonly names: readonly string[];
  /** Those that have been looked at. Undefined: it has no version that can be read. */
  readonly ready: Map<string, ReadyProjection | undefined>;
  bytes: number;
}

/** Approximate memory of all that is kept, of a name, and of a column beside its name. */
const KNOWN_BYTES_MAX = 16 * 1024 * 1024;
const NAME_BYTES = 300;
const COLUMN_BYTES = 100;
const CHARACTER_BYTES = 2;

const knownByEngine = new WeakMap<Engine, RecentMap<number, KnownVersions>>();

function knownOf(engine: Engine): RecentMap<number, KnownVersions> {
  const before = knownByEngine.get(engine);
  if (before !== undefined) return before;
  const opened = createRecentMap<number, KnownVersions>(
    KNOWN_BYTES_MAX,
    ({ bytes }) => bytes,
  );
  knownByEngine.set(engine, opened);
  return opened;
}

/** The versions that can be read, by name. Reads the definitions of the wanted ones alone. */
export async function listReadyProjections(
  engine: Engine,
  tx: Pick<ReadTransaction, "get" | "getRange">,
  tenant: number,
  { names, pieces }: ReadyOnes,
): Promise<ReadyProjection[]> {
  const all = knownOf(engine);
  const known = await readKnown(all, tx, tenant);
  const found: ReadyProjection[] = [];
  const before = known.bytes;
  for (const name of known.names) {
    if (names !== undefined && !names.has(name)) continue;
    if (!known.ready.has(name)) {
      const rest = pieces.rest();
      if (rest !== undefined) await rest;
    }
    // Another query may have read it meanwhile.
    if (!known.ready.has(name)) note(known, name, await readReadyProjection(tx, tenant, name));
    const ready = known.ready.get(name);
    if (ready !== undefined) found.push(ready);
  }
  if (known.bytes > before && all.get(tenant) === known) all.set(tenant, known);
  return found;
}

async function readKnown(
  all: RecentMap<number, KnownVersions>,
  tx: Pick<ReadTransaction, "get" | "getRange">,
  tenant: number,
): Promise<KnownVersions> {
  const changes = await readProjectionChanges(tx, tenant);
  const isKnown = () => all.get(tenant)?.changes === changes;
  if (isKnown()) return all.get(tenant)!;
  const pairs = await tx.getRange(keys.projections(tenant), { keysOnly: true });
  if (isKnown()) return all.get(tenant)!;
  const names = pairs.map(({ key }) => unpack(key).at(-1) as string);
  const bytes = NAME_BYTES * (names.length + 1);
  const known = { changes, names, ready: new Map(), bytes };
  all.set(tenant, known);
  return known;
}

function note(known: KnownVersions, name: string, ready: ReadyProjection | undefined): void {
  if (known.ready.has(name)) return;
  known.ready.set(name, ready);
  if (ready === undefined) return;
  known.bytes += CHARACTER_BYTES * (ready.broken?.length ?? 0);
  for (const column of ready.columns) {
    known.bytes += COLUMN_BYTES + CHARACTER_BYTES * column.name.length;
  }
}
