/**
 * Reads instances, and resolves the tenant that an operator's call addresses.
 *
 * See docs/reference/operators.md.
 */

import type { Instance, Operator } from "../../domain/access/access.ts";
import { mayOperate, refuseOtherInstance } from "../../domain/access/operator.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Environment, Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import {
  type InstanceRecord,
  listInstances as listRecords,
  readInstance as readRecord,
  tenantOf,
  viewInstance,
} from "../../store/access/instances.ts";

/** The instances that the token covers, sorted by id. */
export async function listInstances(
  engine: Engine,
  operator: Operator,
): Promise<readonly Instance[]> {
  return (await readCovered(engine, operator)).map(viewInstance);
}

/** Instances read in one transaction. A list of all may take longer than a transaction may last. */
const PAGE = 1_000;

/** 403 if the token does not cover the instance, whether it exists or not; otherwise 404. */
export async function readInstance(
  engine: Engine,
  operator: Operator,
  id: string,
): Promise<Outcome<Instance>> {
  const found = await findInstance(engine, operator, id);
  return found.ok ? accept(viewInstance(found.value)) : found;
}

/** Without an id: the only instance that the token covers; 400 if it covers several. */
export async function resolveTenant(
  engine: Engine,
  operator: Operator,
  id: string | undefined,
  environment: Environment,
): Promise<Outcome<Tenant>> {
  const found = id === undefined
    ? onlyOne(await readCovered(engine, operator, 2))
    : await findInstance(engine, operator, id);
  return found.ok ? accept(tenantOf(found.value, environment)) : found;
}

async function findInstance(
  engine: Engine,
  operator: Operator,
  id: string,
): Promise<Outcome<InstanceRecord>> {
  if (!mayOperate(operator, id)) return refuseOtherInstance();
  const record = await engine.snapshot((tx) => readRecord(tx, id));
  if (record === undefined) return refuse({ kind: "not_found", message: "Instance not found" });
  return accept(record);
}

function onlyOne(records: readonly InstanceRecord[]): Outcome<InstanceRecord> {
  const [first, second] = records;
  if (first === undefined) return refuse({ kind: "not_found", message: "There is no instance" });
  if (second === undefined) return accept(first);
  const message = "instance_id is required where there are several instances";
  return refuse({ kind: "bad_request", path: "instance_id", message });
}

/** Sorted by id, at most `limit`. */
async function readCovered(
  engine: Engine,
  { instances: ids }: Operator,
  limit = Infinity,
): Promise<InstanceRecord[]> {
  if (ids !== undefined) {
    const unique = [...new Set(ids)].sort();
    const found = await engine.snapshot((tx) =>
      Promise.all(unique.map((id) => readRecord(tx, id)))
    );
    return found.filter((record) => record !== undefined).slice(0, limit);
  }
  const records: InstanceRecord[] = [];
  let last: InstanceRecord | undefined;
  while (records.length < limit) {
    const count = Math.min(PAGE, limit - records.length);
    const page = await engine.snapshot((tx) => listRecords(tx, count, last?.id));
    records.push(...page);
    last = page.at(-1);
    if (page.length < count) break;
  }
  return records;
}
