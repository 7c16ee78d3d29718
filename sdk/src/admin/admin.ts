/** `createAdmin`: the calls of operators, from their groups. */

import { accessCalls } from "./access_calls.ts";
import type { Admin } from "./calls.ts";
import { evidenceCalls } from "./evidence_calls.ts";
import { type AdminOptions, createOperator } from "./operator.ts";
import { specCalls } from "./spec_calls.ts";
import { workCalls } from "./work_calls.ts";

/**
 * Makes the calls of an operator. Nothing is sent until something is asked; the first call logs in
 * if an account is given.
 *
 * @example
 * ```ts
 * import { createAdmin } from "@daybook/client/admin";
 * import { startDaybook } from "@daybook/client/test";
 *
 * const daybook = await startDaybook();
 * const admin = createAdmin({ url: daybook.url, token: daybook.token });
 * const spec = {
 *   agent_types: ["user"],
 *   aggregate_types: { order: { events: { was_placed: { schema: true, handler: [] } } } },
 * };
 * const deployed = await admin.deploy(spec);
 * if (deployed.ok) console.log(deployed.version, deployed.changes);
 * else console.log(deployed.error, deployed.hint);
 * const { key } = await admin.keys.issue({ name: "ci", scope: "read" }).orThrow();
 * console.log(key.slice(0, 11)); // dbk_0_test_
 * await daybook.stop();
 * ```
 */
export function createAdmin(options: AdminOptions): Admin {
  const operator = createOperator(options);
  return {
    ...specCalls(operator),
    ...accessCalls(operator),
    ...workCalls(operator),
    ...evidenceCalls(operator),
    request: (ask) => operator.ask(ask),
  };
}
