/**
 * Keywords that ajv brings and we replace: its own take quadratic time, round, or trip over data
 * with keys such as `valueOf`. And one of ours, `x-steps`, which the rewriting puts into every
 * schema and which no deployed schema may use.
 */

import {
  _,
  type Ajv2020,
  type Code,
  type CodeKeywordDefinition,
  type KeywordCxt,
  Name,
  nil,
} from "ajv/dist/2020.js";
import type { Rule } from "ajv/dist/compile/rules.js";
import { canonicalJson } from "../../canonical_json.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { installChoices, installWholeConditions } from "./choice.ts";
import { isMultipleOf } from "./exact_multiple.ts";
import { spend, type StepBudget } from "./step_budget.ts";

/** Characters of text that cost one step when they are compared or measured. */
const TEXT_PER_STEP = 32;

/** What an error says of these keywords: the schema's own value. */
const error = {
  message: "is not allowed",
  params: ({ schemaCode }: { schemaCode: unknown }) => _`{allowed: ${schemaCode as Name}}`,
};

/** Replaces the keywords of `ajv`; all its validators then spend from `budget`. */
export function installKeywords(ajv: Ajv2020, budget: StepBudget): void {
  installChoices(ajv);
  installWholeConditions(ajv);
  mendUnevaluatedItems(ajv);
  for (const keyword of ["enum", "const", "uniqueItems", "multipleOf"]) ajv.removeKeyword(keyword);
  // One function each for all schemas: ajv's time grows with the square of what a schema refers to.
  const allowed = createAllowedValues(budget);
  const isUnique = (items: readonly JsonValue[]) => hasUniqueItems(items, budget);
  const charge = { fixed: (steps: number) => spend(budget, steps), bySize: chargeBySize(budget) };
  ajv.addKeyword({
    keyword: "enum",
    error,
    schemaType: "array",
    code: (cxt) => failUnless(cxt, allowed.has, _`, ${allowed.add(cxt.schema)}`),
  });
  ajv.addKeyword({
    keyword: "const",
    error,
    code: (cxt) => failUnless(cxt, allowed.has, _`, ${allowed.add([cxt.schema])}`),
  });
  ajv.addKeyword({
    keyword: "uniqueItems",
    error,
    type: "array",
    schemaType: "boolean",
    code: (cxt) => {
      if (cxt.schema) failUnless(cxt, isUnique);
    },
  });
  ajv.addKeyword({
    keyword: "multipleOf",
    error,
    type: "number",
    schemaType: "number",
    code: (cxt) => failUnless(cxt, isMultipleOf, _`, ${cxt.schema}`),
  });
  ajv.addKeyword({
    keyword: "x-steps",
    before: firstKeyword(ajv),
    schemaType: "number",
    code: (cxt) => {
      if (cxt.it.opts.unevaluated) startEvaluated(cxt);
      chargeSteps(cxt, charge);
    },
  });
}

/**
 * Where a reference leads back into a schema, how many items that has evaluated is known when it
 * has run. ajv then takes `true`, which means all of them, for the number 1, and undefined, which
 * means none, for more than there are.
 */
function mendUnevaluatedItems(ajv: Ajv2020): void {
  const { definition } = ajv.RULES.all.unevaluatedItems as Rule;
  const { code } = definition as CodeKeywordDefinition;
  ajv.removeKeyword("unevaluatedItems");
  ajv.addKeyword({
    ...definition,
    code(cxt) {
      const { gen, it: { items } } = cxt;
      if (!(items instanceof Name)) return code(cxt);
      gen.assign(items, _`${items} ?? 0`);
      gen.if(_`${items} !== true`, () => code(cxt));
    },
  });
}

function firstKeyword(ajv: Ajv2020): string {
  return ajv.RULES.rules.find(({ type }) => type === undefined)!.rules[0]!.keyword;
}

/**
 * Begins the record of evaluated properties before any branch runs. ajv would begin it in the first
 * branch, and so count what a branch that fails has evaluated; and on an object with a prototype,
 * where `constructor` is always there.
 */
function startEvaluated({ gen, it }: KeywordCxt): void {
  it.props = gen.var("props", _`{__proto__: null}`);
}

/** `more` is what the test is given beside the data: code that begins with a comma. */
function failUnless(
  cxt: KeywordCxt,
  test: (...values: never[]) => boolean,
  more: Code = nil,
): void {
  const name = cxt.gen.scopeValue("func", { ref: test });
  cxt.fail(_`!${name}(${cxt.data}${more})`);
}

/** The lists of `enum` and `const`, each by a number that stands for it in generated code. */
function createAllowedValues(budget: StepBudget) {
  const lists: { scalars: Set<JsonValue>; composites: Set<string> }[] = [];
  return {
    add: (values: readonly JsonValue[]): number => {
      const composites = values.filter((value) => !isScalar(value)).map(canonicalJson);
      lists.push({ scalars: new Set(values.filter(isScalar)), composites: new Set(composites) });
      return lists.length - 1;
    },
    has: (value: JsonValue, list: number): boolean => {
      const { scalars, composites } = lists[list]!;
      if (isScalar(value)) return scalars.has(value);
      return composites.size > 0 && composites.has(canonicalText(value, budget));
    },
  };
}

function hasUniqueItems(items: readonly JsonValue[], budget: StepBudget): boolean {
  spend(budget, items.length);
  const scalars = new Set<JsonValue>();
  const composites = new Set<string>();
  let compositeCount = 0;
  for (const item of items) {
    if (isScalar(item)) scalars.add(item);
    else {
      compositeCount++;
      composites.add(canonicalText(item, budget));
    }
  }
  return scalars.size + composites.size === items.length &&
    composites.size === compositeCount;
}

function isScalar(value: JsonValue): boolean {
  return typeof value !== "object" || value === null;
}

function canonicalText(value: JsonValue, budget: StepBudget): string {
  const text = canonicalJson(value);
  spend(budget, Math.ceil(text.length / TEXT_PER_STEP));
  return text;
}

/** Keywords that read a whole string, or look at each key of an object. */
const READS_TEXT = ["minLength", "maxLength", "format"];
const READS_KEYS = [
  "additionalProperties",
  "patternProperties",
  "propertyNames",
  "unevaluatedProperties",
  "minProperties",
  "maxProperties",
];

interface Charge {
  readonly fixed: (steps: number) => void;
  readonly bySize: (value: JsonValue, steps: number, readsKeys: boolean) => void;
}

function chargeSteps(cxt: KeywordCxt, charge: Charge): void {
  const { gen, data, schema } = cxt;
  const parent = cxt.parentSchema as JsonObject;
  const has = (keyword: string) => Object.hasOwn(parent, keyword);
  const readsKeys = READS_KEYS.some(has);
  if (READS_TEXT.some(has) || readsKeys) {
    const bySize = gen.scopeValue("func", { ref: charge.bySize });
    gen.code(_`${bySize}(${data}, ${schema}, ${readsKeys})`);
  } else gen.code(_`${gen.scopeValue("func", { ref: charge.fixed })}(${schema})`);
}

function chargeBySize(budget: StepBudget): Charge["bySize"] {
  return (value, steps, readsKeys) => {
    if (typeof value === "string") steps += value.length / TEXT_PER_STEP;
    else if (readsKeys && typeof value === "object" && value !== null && !Array.isArray(value)) {
      steps += Object.keys(value).length;
    }
    spend(budget, steps);
  };
}

/** What one visit of this schema costs before its data is known. */
export function fixedSteps(schema: JsonObject): number {
  let steps = 1;
  for (const keyword of ["required", "properties", "patternProperties", "dependentRequired"]) {
    const value = schema[keyword];
    // A long list costs a pass over it at each visit; a short one is part of the visit.
    if (typeof value === "object" && value !== null) steps += Object.keys(value).length / 8;
  }
  return Math.ceil(steps);
}
