/**
 * Replaces keywords of ajv whose own versions are too slow, inexact or unsafe.
 *
 * They take quadratic time, round, or fail on data with keys such as `valueOf`.
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
import type { Budget } from "../../budget.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { createAllowedValues, hasUniqueItems } from "./allowed_values.ts";
import { type Calls, installCalls } from "./calls.ts";
import { installCharges } from "./charges.ts";
import { installChoices, installWholeConditions } from "./choice.ts";
import { installEvaluatedItems, type ItemRecords } from "./evaluated_items.ts";
import { createDivisor, type Divisor, isMultipleOf } from "./exact_multiple.ts";
import { installFewerFaults } from "./fewer_faults.ts";

/** The parameters of errors of these keywords: the schema's own value. */
const error = {
  message: "is not allowed",
  params: ({ schemaCode }: { schemaCode: unknown }) => _`{allowed: ${schemaCode as Name}}`,
};

/** Replaces the keywords of `ajv`; all its validators then spend from `budget`. */
export function installKeywords(
  ajv: Ajv2020,
  budget: Budget,
  calls: Calls,
  items: ItemRecords,
): void {
  installChoices(ajv);
  installWholeConditions(ajv);
  installEvaluatedItems(ajv, items);
  installCalls(ajv, budget, calls);
  mendProperties(ajv);
  mendDependentRequired(ajv);
  installFewerFaults(ajv);
  for (const keyword of ["enum", "const", "uniqueItems", "multipleOf"]) ajv.removeKeyword(keyword);
  // One function for all schemas: ajv takes quadratic time in what a schema references.
  const allowed = createAllowedValues(budget);
  const isUnique = (items: readonly JsonValue[]) => hasUniqueItems(items, budget);
  const divisors: Divisor[] = [];
  const isMultiple = (value: number, divisor: number) =>
    isMultipleOf(value, divisors[divisor]!, budget);
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
    code: (cxt) =>
      failUnless(cxt, isMultiple, _`, ${divisors.push(createDivisor(cxt.schema)) - 1}`),
  });
  installCharges(ajv, budget, items);
}

/**
 * When evaluated properties are recorded, ajv records every name of `properties` at each visit.
 * Only the ones that the data has matter.
 */
function mendProperties(ajv: Ajv2020): void {
  const rule = ajv.RULES.all.properties as { definition: CodeKeywordDefinition };
  const { code } = rule.definition;
  rule.definition = {
    ...rule.definition,
    code(cxt) {
      const { gen, data, it } = cxt;
      const { props } = it;
      if (!it.opts.unevaluated || !(props instanceof Name)) return code(cxt);
      const mark = gen.scopeValue("func", { ref: markEvaluated });
      gen.if(_`${props} !== true`, _`${mark}(${props}, ${data}, ${cxt.schemaCode as Name})`);
      it.props = true;
      code(cxt);
      it.props = props;
    },
  };
}

function markEvaluated(props: Record<string, true>, data: JsonObject, schemas: JsonObject): void {
  for (const key of Object.keys(data)) if (Object.hasOwn(schemas, key)) props[key] = true;
}

/** Makes the fault say which property requires the other. */
function mendDependentRequired(ajv: Ajv2020): void {
  const rule = ajv.RULES.all.dependentRequired as { definition: CodeKeywordDefinition };
  rule.definition = {
    ...rule.definition,
    error: {
      message: "is required",
      params: ({ params: { property, missingProperty } }) =>
        _`{property: ${property}, missingProperty: ${missingProperty}}`,
    },
  };
}

/** `more`: further arguments of the test after the data, as code that begins with a comma. */
function failUnless(
  cxt: KeywordCxt,
  test: (...values: never[]) => boolean,
  more: Code = nil,
): void {
  const name = cxt.gen.scopeValue("func", { ref: test });
  cxt.fail(_`!${name}(${cxt.data}${more})`);
}
