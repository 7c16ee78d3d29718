/** The number of events of an aggregate, from one small read. See docs/reference/reading.md. */

import { accept, type Outcome } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import { locateStream, type SpecCache } from "../base/current_spec.ts";
import { readHead } from "../../store/streams/streams.ts";

export interface AggregateName {
  readonly aggregateType: string;
  readonly id: string;
}

/** 0 for an aggregate without events. */
export async function readLength(
  engine: Engine,
  specs: SpecCache,
  tenant: Tenant,
  { aggregateType, id }: AggregateName,
): Promise<Outcome<number>> {
  const spec = await specs.current(tenant.number);
  const located = locateStream(spec, aggregateType, id);
  if (!located.ok) return located;
  const { key } = located.value;
  const head = await engine.snapshot((tx) => readHead(tx, tenant.number, key));
  return accept(head.length);
}
