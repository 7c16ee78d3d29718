/**
 * Schemas of a spec that is stored already. An older version of the service may have taken what
 * this one refuses: limits are rules of deploys. Such a schema is not run, for it could hold up
 * others; events of its type are refused with the reason, and all else of the spec works.
 */

import { runAtOnce, type Steps } from "../pieces.ts";
import type { DataFault } from "../refusal.ts";
import type { EventValidator, SchemaCompiler } from "./event_schema.ts";
import { SchemaNotCompiled } from "./event_schema.ts";
import { createFaultList } from "./fault_list.ts";

/** Like `compiler`, but reports no faults: what it refuses becomes a schema that takes no event. */
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

/** Nothing known gets so far and is not compiled; if it does, it is refused event by event. */
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
