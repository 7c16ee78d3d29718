/** Event schemas compiled alone, as a spec would compile them. */

import type { JsonValue } from "../../src/domain/json.ts";
import { runAtOnce } from "../../src/domain/fairness/pieces.ts";
import { createSchemaCompiler } from "../../src/domain/spec/event_schema.ts";
import { createFaultList, type FaultList } from "../../src/domain/spec/fault_list.ts";

/** The schemas of one spec; undefined where a schema is refused. */
export function openCompiler() {
  const compiler = createSchemaCompiler();
  return {
    compile: (schema: JsonValue, path = "schema", faults: FaultList = createFaultList()) =>
      runAtOnce(compiler.compile(schema, path, faults))?.validate,
  };
}
