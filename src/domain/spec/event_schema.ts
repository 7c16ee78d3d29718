/**
 * The JSON Schema (Draft 2020-12) of one event type: checked at deploy, then asked for each event.
 * Spec: "Event definition", field `schema`; `format` is asserted, as decisions 3 say.
 */

import { Ajv2020 } from "ajv/dist/2020.js";
import addFormatsModule from "ajv-formats";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import type { DataFault } from "../refusal.ts";
import { describeKind, type FaultList } from "./fault_list.ts";
import { describeDataFault } from "./schema/data_fault.ts";

export type ValidateData = (data: JsonObject) => readonly DataFault[];

/** Compiles the schemas of one spec. It and its validators live no longer than that spec. */
export interface SchemaCompiler {
  /** The validator, or undefined after reporting what is wrong with the schema at `path`. */
  compile(schema: JsonValue, path: string, faults: FaultList): ValidateData | undefined;
}

export function createSchemaCompiler(): SchemaCompiler {
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false, ownProperties: true });
  // The package is CommonJS: its function is the module itself at run time.
  (addFormatsModule as unknown as (ajv: Ajv2020) => void)(ajv);
  return { compile: (schema, path, faults) => compileSchema(ajv, schema, path, faults) };
}

function compileSchema(
  ajv: Ajv2020,
  schema: JsonValue,
  path: string,
  faults: FaultList,
): ValidateData | undefined {
  if (typeof schema !== "boolean" && !isJsonObject(schema)) {
    faults.add(
      "schema_invalid",
      path,
      `A schema must be an object, true or false, not ${describeKind(schema)}.`,
      "Write true to accept any data.",
    );
    return undefined;
  }
  try {
    const validate = ajv.compile(schema);
    return (data) => {
      if (validate(data)) return [];
      return (validate.errors ?? []).slice(0, limits.schemaDetailsMax).map(describeDataFault);
    };
  } catch (error) {
    faults.add("schema_invalid", path, (error as Error).message, "See JSON Schema 2020-12.");
    return undefined;
  }
}
