/** Evidence that is taken from a world when it is quiet: one more anchor, and bundles. */

import type { AttestationBundle } from "../../src/domain/audit/bundle.ts";
import { unpack } from "../../src/kv/tuple.ts";
import { keys } from "../../src/store/keys.ts";
import { TENANT } from "./founding.ts";
import type { Node } from "./node.ts";
import type { SimulatedStore } from "./simulated_store.ts";

/** A bundle, and what was asked for. */
export interface Bundle {
  /** `<type>:<id>`. */
  readonly stream: string;
  readonly index: number;
  /** Id of the anchor. */
  readonly anchor: string;
  readonly bundle: AttestationBundle;
}

const PAGE = { limit: 200 };

/** Covers everything written since the previous anchor; makes none if nothing was. */
export async function makeLastAnchor({ service }: Node): Promise<void> {
  await service.audit.makeAnchor(TENANT);
}

/** For each stream: its first event under the oldest anchor, its second under the newest. */
export async function takeBundles({ service }: Node, store: SimulatedStore): Promise<Bundle[]> {
  const page = await service.audit.listAnchors(TENANT, PAGE);
  if (!page.ok || page.value.data.length === 0) return [];
  const asked = [[page.value.data.at(-1)!.id, 0], [page.value.data[0]!.id, 1]] as const;
  const bundles: Bundle[] = [];
  for (const { key } of store.pairsWithin(keys.allAggregates(TENANT.number))) {
    const [aggregateType, id] = unpack(key).slice(-2) as [string, string];
    for (const [anchor, index] of asked) {
      const request = { aggregateType, id, index: String(index), anchor };
      const outcome = await service.audit.attest(TENANT, request);
      // The event does not exist or is not covered yet; an anchor's coverage is judged by its
      // root.
      if (!outcome.ok) continue;
      bundles.push({ stream: `${aggregateType}:${id}`, index, anchor, bundle: outcome.value });
    }
  }
  return bundles;
}
