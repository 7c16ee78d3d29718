/** Compiles event schemas on their own, as the compiler of a spec would. */

import type { JsonValue } from "../../src/domain/json.ts";
import { runAtOnce } from "../../src/domain/fairness/pieces.ts";
import { createSchemaCompiler } from "../../src/domain/spec/event_schema.ts";
import { createFaultList, type FaultList } from "../../src/domain/spec/fault_list.ts";

/** Opens the schema compiler of one spec; `compile` returns undefined for a refused schema. */
export function openCompiler() {
  const compiler = createSchemaCompiler();
  return {
    compile: (schema: JsonValue, path = "schema", faults: FaultList = createFaultList()) =>
      runAtOnce(compiler.compile(schema, path, faults))?.validate,
  };
}
