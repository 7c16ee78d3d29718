/**
 * Handles the schemas of a stored spec that this version of the service would refuse.
 *
 * An older version may have accepted them, because limits apply to deploys. Such a schema is
 * not run, since it could hold up other requests. Events of its type are refused with the
 * reason, and the rest of the spec works.
 */

import { runAtOnce, type Steps } from "../fairness/pieces.ts";
import type { DataFault } from "../refusal.ts";
import { type EventValidator, type SchemaCompiler, SchemaNotCompiled } from "./event_schema.ts";
import { createFaultList } from "./fault_list.ts";

/** Like `compiler`, but reports no faults: a refused schema becomes one that accepts no event. */
export function acceptStored(compiler: SchemaCompiler): SchemaCompiler {
  return {
    *compile(schema, path) {
      const faults = createFaultList(1);
      const validator = yield* compiler.compile(schema, path, faults);
      if (validator !== undefined) return refuseWhereNotCompiled(validator);
      const refusals = explain(faults.faults[0]!.message);
      return { validate: () => refusals, *prepare() {} };
    },
  };
}

/**
 * No known schema passes the checks and then fails to compile. If one should, its events are
 * refused.
 */
function refuseWhereNotCompiled(validator: EventValidator): EventValidator {
  let isPrepared = false;
  let refusals: readonly DataFault[] | undefined;

  function* prepare(): Steps<void> {
    if (isPrepared) return;
    try {
      yield* validator.prepare();
    } catch (error) {
      if (!(error instanceof SchemaNotCompiled)) throw error;
      refusals = explain(`It cannot be compiled: ${error.message}.`);
    }
    isPrepared = true;
  }

  return {
    prepare,
    validate: (data, work) => {
      if (!isPrepared) runAtOnce(prepare());
      return refusals ?? validator.validate(data, work);
    },
  };
}

function explain(reason: string): readonly DataFault[] {
  const message = "cannot be checked: an older version of the service took the schema of this " +
    `event type, and this one refuses it. ${reason} Deploy a spec without that fault`;
  return [{ path: "data", message }];
}
