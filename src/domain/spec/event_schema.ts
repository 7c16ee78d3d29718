/**
 * The JSON Schema (Draft 2020-12) of one event type: checked at deploy, then asked for each event.
 * Spec: "Event definition", field `schema`; `format` is asserted, as decisions 3 say.
 */

import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { type Budget, BudgetSpent, newBudget } from "../budget.ts";
import { canonicalJson } from "../canonical_json.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import type { DataFault } from "../refusal.ts";
import type { CompiledEventType } from "./compiled.ts";
import type { FaultList } from "./fault_list.ts";
import { checkSchema } from "./schema/check.ts";
import { describeDataFaults } from "./schema/data_fault.ts";
import { NUMBER_FORMATS, OPAQUE_FORMATS, TEXT_FORMATS } from "./schema/formats.ts";
import { installKeywords } from "./schema/keywords.ts";
import { createPatternSet, type PatternSet } from "./schema/pattern_set.ts";
import { rewriteSchema, usesUnevaluated } from "./schema/rewrite.ts";
import { countParts, PARTS } from "./schema/schema_size.ts";

export type ValidateData = CompiledEventType["validateData"];

/** Compiles the schemas of one spec. It and its validators live no longer than that spec. */
export interface SchemaCompiler {
  /** The validator, or undefined after reporting what is wrong with the schema at `path`. */
  compile(schema: JsonValue, path: string, faults: FaultList): ValidateData | undefined;
}

/**
 * Parts of all event schemas of one spec, each different schema counted once. Keeps a deploy from
 * holding up all other requests for over a second.
 */
const PARTS_MAX = 20_000;

interface Compiling {
  readonly ajv: Ajv2020;
  readonly budget: Budget;
  /** By canonical text: event types often share a schema. */
  readonly validators: Map<string, ValidateData>;
  readonly patterns: PatternSet;
  partsLeft: number;
}

export function createSchemaCompiler(): SchemaCompiler {
  const budget = newBudget(0);
  const patterns = createPatternSet();
  const compiling: Compiling = {
    ajv: createAjv(budget, patterns),
    budget,
    validators: new Map(),
    patterns,
    partsLeft: PARTS_MAX,
  };
  return { compile: (schema, path, faults) => compileSchema(schema, path, faults, compiling) };
}

/** Schemas reach it checked and rewritten, so its own strictness and meta-schemas are off. */
function createAjv(budget: Budget, patterns: PatternSet): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    meta: false,
    validateSchema: false,
    addUsedSchema: false,
    logger: false,
    allErrors: true,
    // Faults are put into words by ourselves; leaving these out halves the time to compile.
    messages: false,
    // `constructor` and the like are never found on a prototype.
    ownProperties: true,
    // A large definition is compiled once, however often it is referred to.
    inlineRefs: false,
    code: { regExp: linearRegExp(budget, patterns), optimize: false },
  });
  installKeywords(ajv, budget);
  for (const [name, validate] of TEXT_FORMATS) ajv.addFormat(name, validate);
  for (const [name, validate] of NUMBER_FORMATS) ajv.addFormat(name, { type: "number", validate });
  for (const name of OPAQUE_FORMATS) ajv.addFormat(name, true);
  return ajv;
}

function linearRegExp(budget: Budget, patterns: PatternSet) {
  function regExp(source: string) {
    const compiled = patterns.compile(source);
    if (!compiled.ok) throw new Error(`unchecked pattern: ${source}`);
    const { pattern } = compiled;
    const test = (text: string) => pattern.test(text, budget);
    return { test, toString: () => source };
  }
  // Only read when validators are written out as source text, which ours never are.
  return Object.assign(regExp, { code: "compilePattern" }) as never;
}

function compileSchema(
  schema: JsonValue,
  path: string,
  faults: FaultList,
  compiling: Compiling,
): ValidateData | undefined {
  const text = canonicalJson(schema);
  const shared = compiling.validators.get(text);
  if (shared !== undefined) return shared;
  const references = checkSchema(schema, path, compiling.patterns, faults);
  if (references === undefined) return undefined;
  compiling.partsLeft -= countParts(references);
  if (compiling.partsLeft < 0) {
    faults.add(
      "schema_too_large",
      path,
      `The event schemas of this spec have more than ${PARTS_MAX} parts (${PARTS}) ` +
        "together.",
      "Describe less; event types with exactly the same schema count once.",
    );
    return undefined;
  }
  compiling.ajv.opts.unevaluated = usesUnevaluated(references);
  const validate = compileRewritten(rewriteSchema(references), path, faults, compiling);
  if (validate !== undefined) compiling.validators.set(text, validate);
  return validate;
}

function compileRewritten(
  schema: JsonObject | boolean,
  path: string,
  faults: FaultList,
  { ajv, budget }: Compiling,
): ValidateData | undefined {
  try {
    const validate = ajv.compile(schema);
    return (data, work) => validateWithin(budget, validate, data, work);
  } catch (error) {
    // Nothing known gets here; if it does, the deploy is refused rather than the server hurt.
    faults.add(
      "schema_invalid",
      path,
      `The schema cannot be compiled: ${(error as Error).message}.`,
      "Simplify the schema.",
    );
    return undefined;
  }
}

function validateWithin(
  budget: Budget,
  validate: ValidateFunction,
  data: JsonObject,
  work: Budget = newBudget(limits.validationUnitsMax),
): readonly DataFault[] {
  const allowed = Math.max(0, Math.min(limits.validationUnitsMax, work.left));
  budget.left = allowed;
  try {
    if (validate(data)) return [];
    return describeDataFaults(validate.errors ?? [], limits.schemaDetailsMax, budget);
  } catch (error) {
    if (!(error instanceof BudgetSpent) && !(error instanceof RangeError)) throw error;
    return [{ path: "data", message: "takes too much work to check against its schema" }];
  } finally {
    // The errors hold on to the data; the validator lives as long as the spec.
    validate.errors = null;
    work.left -= allowed - budget.left;
  }
}
