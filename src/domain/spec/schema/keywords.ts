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
import { type Budget, spend } from "../../budget.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { isScalar, type ScalarValue } from "../../lookup/scalar_list.ts";
import { type Calls, installCalls } from "./calls.ts";
import {
  type AllowedValues,
  createAllowedValues,
  hasUniqueItems,
  installCharges,
} from "./charges.ts";
import { installChoices, installWholeConditions } from "./choice.ts";
import { installEvaluatedItems, type ItemRecords } from "./evaluated_items.ts";
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
  installFewerFaults(ajv, budget);
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
    code: (cxt) => allowOnly(cxt, cxt.schema, allowed),
  });
  ajv.addKeyword({
    keyword: "const",
    error,
    code: (cxt) => allowOnly(cxt, [cxt.schema], allowed),
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

/** For ajv's list of declared names, which only its strict mode looks at. */
const NO_LIST = { add: () => NO_LIST } as unknown as Set<string>;

/**
 * When evaluated properties are recorded, ajv records every name of `properties` at each visit.
 * Only the ones that the data has matter. It also lists the names in a `Set`, which is slow if
 * they are chosen to fall into one bucket.
 */
function mendProperties(ajv: Ajv2020): void {
  const rule = ajv.RULES.all.properties as { definition: CodeKeywordDefinition };
  const { code } = rule.definition;
  rule.definition = {
    ...rule.definition,
    code(cxt) {
      const { gen, data, it } = cxt;
      const { props } = it;
      it.definedProperties = NO_LIST;
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

/** Up to this many values, with so few characters, are compared where the data is. */
const INLINED_VALUES = 8;
const INLINED_CHARACTERS = 128;

/** A few short values are cheaper to compare than a call is. What the visit costs covers them. */
function allowOnly(cxt: KeywordCxt, values: readonly JsonValue[], allowed: AllowedValues): void {
  if (!areInlined(values)) return failUnless(cxt, allowed.has, _`, ${allowed.add(values)}`);
  // Bounded: `INLINED_VALUES`.
  cxt.fail(values.reduce<Code>((code, value) => _`${code} && ${cxt.data} !== ${value}`, _`true`));
}

function areInlined(values: readonly JsonValue[]): values is ScalarValue[] {
  if (values.length > INLINED_VALUES || !values.every(isScalar)) return false;
  return values.map(String).join("").length <= INLINED_CHARACTERS;
}

/** Decimal places by which a number can be scaled without losing a digit. */
const PLACES_MAX = 15;
/** Below this, no other decimal with so few digits is as close to the number. */
const SHORT_MAX = 1e15;

/** Units for dividing integers and short decimals, and for dividing up to 650 digits. */
const SHORT_UNITS = 8;
const LONG_UNITS = 2_048;

/** A number above 0 to divide by. */
interface Divisor {
  readonly value: number;
  /** A power of ten, one factor for each decimal place, and the integer `value * scale`. */
  readonly scale: number;
  readonly scaled: number;
  readonly decimal: Decimal;
}

/** `multipleOf` in decimal arithmetic: 19.99 is a multiple of 0.01, as the writer means it. */
export function createDivisor(value: number): Divisor {
  const digits = decimal(value);
  const places = Math.max(0, -digits.exponent);
  const scale = places <= PLACES_MAX ? 10 ** places : Infinity;
  return { value, scale, scaled: Math.round(value * scale), decimal: digits };
}

/** True when `value` divided by `divisor` is an integer, using the digits as written. */
export function isMultipleOf(value: number, divisor: Divisor, budget: Budget): boolean {
  spend(budget, SHORT_UNITS);
  if (!Number.isFinite(value)) return false;
  const scaled = Math.round(value * divisor.scale);
  if (Math.abs(scaled) < SHORT_MAX && divisor.scaled < SHORT_MAX) {
    // A value with more places than the divisor is not a multiple; else scaling loses nothing.
    return scaled / divisor.scale === value && scaled % divisor.scaled === 0;
  }
  spend(budget, LONG_UNITS);
  const [a, b] = [decimal(value), divisor.decimal];
  const exponent = Math.min(a.exponent, b.exponent);
  return scale(a, exponent) % scale(b, exponent) === 0n;
}

interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

function decimal(value: number): Decimal {
  const [mantissa, power] = String(value).split("e");
  const [whole, fraction = ""] = mantissa!.split(".");
  return { digits: BigInt(whole! + fraction), exponent: Number(power ?? 0) - fraction.length };
}

/** About 650 digits at most: the exponent of a double ends near 308 in both directions. */
function scale(value: Decimal, exponent: number): bigint {
  return value.digits * 10n ** BigInt(value.exponent - exponent);
}
