/**
 * Compiles the JSON Schema (Draft 2020-12) of an event type to a validator of event data.
 *
 * A schema is checked at deploy and run for each event; `format` is asserted. See
 * docs/reference/specs.md.
 */

import { Ajv2020 } from "ajv/dist/2020.js";
import { type Budget, BudgetSpent, newBudget } from "../budget.ts";
import { canonicalHashSteps } from "../canonical_hash.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { runAtOnce, type Steps } from "../fairness/pieces.ts";
import type { DataFault } from "../refusal.ts";
import type { CompiledEventType } from "./compiled.ts";
import { createFaultList, type FaultList } from "./fault_list.ts";
import type { Calls, Slot } from "./schema/calls.ts";
import { createKeyPaths, escapeKeysOnce, type KeyPaths } from "./schema/charges.ts";
import { checkSchema } from "./schema/check.ts";
import { describeDataFaults } from "./schema/data_fault.ts";
import { createDynamicScope, type DynamicScope } from "./schema/dynamic_scope.ts";
import { type ItemRecords, itemRecordsOf } from "./schema/evaluated_items.ts";
import { NUMBER_FORMATS, OPAQUE_FORMATS, TEXT_FORMATS } from "./schema/formats/formats.ts";
import { installKeywords } from "./schema/keywords.ts";
import { createPatternSet, type PatternSet } from "./schema/patterns/pattern_set.ts";
import type { References } from "./schema/references.ts";
import { rewriteSchema, usesUnevaluated } from "./schema/rewrite.ts";
import { countPartsSteps, PARTS } from "./schema/schema_size.ts";

export type ValidateData = CompiledEventType["validateData"];

/**
 * Thrown when a checked schema does not compile. No known schema does this. If one should, the
 * deploy is refused, which is better than a failure while events are written.
 */
export class SchemaNotCompiled extends Error {
  override readonly name = "SchemaNotCompiled";
}

/** The validator of one schema. */
export interface EventValidator {
  readonly validate: ValidateData;
  readonly prepare: CompiledEventType["prepare"];
}

/** Compiles the schemas of one spec. The compiler and its validators live as long as that spec. */
export interface SchemaCompiler {
  /** Returns the validator, or undefined after reporting the faults of the schema at `path`. */
  compile(schema: JsonValue, path: string, faults: FaultList): Steps<EventValidator | undefined>;
}

/**
 * Maximum number of parts in all event schemas of one spec; equal schemas count once. It keeps
 * a deploy from holding up all other requests for over a second.
 */
const PARTS_MAX = 20_000;

interface Compiling {
  readonly ajv: Ajv2020;
  readonly budget: Budget;
  readonly calls: Calls;
  readonly items: ItemRecords;
  readonly keys: KeyPaths;
  /** By canonical hash, because event types often share a schema. */
  readonly validators: Map<string, EventValidator>;
  readonly patterns: PatternSet;
  readonly warnings: FaultList;
  partsLeft: number;
}

/** Parts of a schema that have no effect go to `warnings`, once for equal schemas. */
export function createSchemaCompiler(warnings = createFaultList()): SchemaCompiler {
  const budget = newBudget(0);
  const patterns = createPatternSet();
  const calls: Calls = { slots: [], scope: undefined };
  const items: ItemRecords = { isKept: false, unitsPerItem: 0 };
  const keys = createKeyPaths(budget);
  const compiling: Compiling = {
    ajv: Object.assign(createAjv(budget, patterns, calls, items), keys),
    budget,
    calls,
    items,
    keys,
    validators: new Map(),
    patterns,
    warnings,
    partsLeft: PARTS_MAX,
  };
  return { compile: (schema, path, faults) => compileSchema(schema, path, faults, compiling) };
}

/**
 * Schemas are checked and rewritten beforehand, so ajv's own strictness and meta-schemas are
 * off.
 */
function createAjv(
  budget: Budget,
  patterns: PatternSet,
  calls: Calls,
  items: ItemRecords,
): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    meta: false,
    validateSchema: false,
    addUsedSchema: false,
    logger: false,
    allErrors: true,
    // We word the faults ourselves; leaving ajv's messages out halves the time to compile.
    messages: false,
    // So that `constructor` and the like are never found on a prototype.
    ownProperties: true,
    // A large definition is compiled once, however often it is referenced.
    inlineRefs: false,
    code: { regExp: linearRegExp(budget, patterns), optimize: false, process: escapeKeysOnce },
  });
  installKeywords(ajv, budget, calls, items);
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
  // Read only when ajv writes validators out as source text, which we never do.
  return Object.assign(regExp, { code: "compilePattern" }) as never;
}

function* compileSchema(
  schema: JsonValue,
  path: string,
  faults: FaultList,
  compiling: Compiling,
): Steps<EventValidator | undefined> {
  const hash = yield* canonicalHashSteps(schema);
  const shared = compiling.validators.get(hash);
  if (shared !== undefined) return shared;
  const { patterns, warnings } = compiling;
  const references = yield* checkSchema(schema, path, { patterns, faults, warnings });
  if (references === undefined) return undefined;
  const parts = yield* countPartsSteps(references);
  compiling.partsLeft -= parts;
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
  const validator = createValidator(references, compiling);
  compiling.validators.set(hash, validator);
  return validator;
}

/** The validator is compiled by `prepare`, or else by the first event that needs it. */
function createValidator(references: References, compiling: Compiling): EventValidator {
  const slots: Slot[] = [];
  let scope: DynamicScope | undefined;
  /** The schema while it still has to be compiled; undefined afterwards. */
  let source: References | undefined = references;

  function* prepare(): Steps<void> {
    if (source === undefined) return;
    const { functions, scope: plan } = yield* rewriteSchema(source);
    scope ??= plan && createDynamicScope(plan, compiling.budget);
    const unevaluated = usesUnevaluated(source);
    const records = itemRecordsOf(source);
    for (const [number, schema] of functions.entries()) {
      // While this run paused, another one may have compiled this function or others.
      if (slots[number]?.validate === undefined) {
        compileFunction(schema, number, { slots, scope, unevaluated, records }, compiling);
      }
      yield;
    }
    source = undefined;
  }

  function validate(data: JsonObject, work?: Budget): readonly DataFault[] {
    if (source !== undefined) runAtOnce(prepare());
    return validateWithin(compiling, { slots, scope }, data, work);
  }

  return { validate, prepare };
}

/** The context that all functions of one schema share. */
interface Around extends Calls {
  readonly unevaluated: boolean;
  readonly records: ItemRecords;
}

function compileFunction(
  schema: JsonObject | boolean,
  number: number,
  { slots, scope, unevaluated, records }: Around,
  { ajv, calls, items }: Compiling,
): void {
  Object.assign(items, records);
  ajv.opts.unevaluated = unevaluated;
  calls.slots = slots;
  calls.scope = scope;
  try {
    slots[number] = { validate: ajv.compile(schema) };
  } catch (error) {
    throw new SchemaNotCompiled((error as Error).message);
  }
}

function validateWithin(
  { budget, keys }: Compiling,
  { slots, scope }: Calls,
  data: JsonObject,
  work: Budget = newBudget(limits.validationUnitsMax),
): readonly DataFault[] {
  const allowed = Math.max(0, Math.min(limits.validationUnitsMax, work.left));
  budget.left = allowed;
  const validate = slots[0]!.validate!;
  try {
    scope?.begin();
    if (validate(data)) return [];
    return describeDataFaults(validate.errors ?? [], limits.schemaDetailsMax, budget);
  } catch (error) {
    if (!(error instanceof BudgetSpent) && !(error instanceof RangeError)) throw error;
    return [{ path: "data", message: "takes too much work to check against its schema" }];
  } finally {
    keys.forget();
    // Errors hold references to the data, and the validator lives as long as the spec.
    if (budget.left < 0 || validate.errors != null) {
      for (const slot of slots) slot.validate!.errors = null;
    }
    work.left -= allowed - budget.left;
  }
}

/**
 * Like `compiler`, but reports no faults: a refused schema becomes one that accepts no event.
 *
 * It is for stored specs, which an older version may have accepted, because limits apply to
 * deploys. Such a schema is not run, since it could hold up other requests. Events of its type
 * are refused with the reason, and the rest of the spec works.
 */
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
