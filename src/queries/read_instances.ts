/** Instances, and the tenant an operator's call is about. Decisions: sections 1 and 19. */

import type { Instance, Operator } from "../domain/access.ts";
import { mayOperate, refuseOtherInstance } from "../domain/operator.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import type { Environment, Tenant } from "../domain/tenant.ts";
import type { Engine } from "../kv/engine.ts";
import {
  type InstanceRecord,
  listInstances as listRecords,
  readInstance as readRecord,
  tenantOf,
  viewInstance,
} from "../store/instances.ts";

/** Those the token covers, by id. */
export async function listInstances(
  engine: Engine,
  operator: Operator,
): Promise<readonly Instance[]> {
  return (await readCovered(engine, operator)).map(viewInstance);
}

/** 403 where the token does not cover the instance, whether it exists or not; else 404. */
export async function readInstance(
  engine: Engine,
  operator: Operator,
  id: string,
): Promise<Outcome<Instance>> {
  const found = await findInstance(engine, operator, id);
  return found.ok ? accept(viewInstance(found.value)) : found;
}

/** Without an id: the only instance that the token covers; 400 where there are several. */
export async function resolveTenant(
  engine: Engine,
  operator: Operator,
  id: string | undefined,
  environment: Environment,
): Promise<Outcome<Tenant>> {
  const found = id === undefined
    ? onlyOne(await readCovered(engine, operator))
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

async function readCovered(engine: Engine, operator: Operator): Promise<InstanceRecord[]> {
  const records = await engine.snapshot((tx) => listRecords(tx));
  return records.filter(({ id }) => mayOperate(operator, id));
}
