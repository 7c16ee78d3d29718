/**
 * Stops keywords that examine many parts of a value once they have found enough faults.
 *
 * Enough is more than an answer ever contains. Data that is entirely wrong therefore costs no
 * more than data that is entirely right.
 */

import {
  _,
  type Ajv2020,
  type CodeKeywordDefinition,
  type KeywordCxt,
  Name,
} from "ajv/dist/2020.js";
import type { Rule } from "ajv/dist/compile/rules.js";
import { type Budget, spend } from "../../budget.ts";
import type { JsonObject } from "../../json.ts";
import { limits } from "../../limits.ts";
import { FAULT_COUNT } from "./charges.ts";

/** One more than an answer contains; faults of different parts are different faults. */
const FAULTY_PARTS_MAX = limits.schemaDetailsMax + 1;

const FAULT_LIST = new Name("vErrors");

/** Keywords that loop over items or properties and end with their loop. */
const LOOPS = [
  "items",
  "additionalProperties",
  "patternProperties",
  "propertyNames",
  "unevaluatedItems",
  "unevaluatedProperties",
];

/** Units for looking up one name that a property of the data asks for. */
const UNITS_PER_DEPENDENT = 12;

export function installFewerFaults(ajv: Ajv2020, budget: Budget): void {
  for (const keyword of LOOPS) replaceCode(ajv, keyword, endEarly);
  replaceCode(ajv, "contains", keepFew);
  replaceCode(ajv, "required", requireFew);
  const find = (data: JsonObject, dependents: Dependents) =>
    firstMissingDependents(data, dependents, budget);
  replaceCode(ajv, "dependentRequired", (cxt) => requireDependents(cxt, find));
}

type Generate = () => void;

function replaceCode(
  ajv: Ajv2020,
  keyword: string,
  code: (cxt: KeywordCxt, generate: Generate) => void,
): void {
  const { definition } = ajv.RULES.all[keyword] as Rule;
  const original = definition as CodeKeywordDefinition;
  // Replaced in place: the order of keywords is the order of their faults.
  (ajv.RULES.all[keyword] as { definition: unknown }).definition = {
    ...definition,
    code: (cxt: KeywordCxt, type?: string) => code(cxt, () => original.code(cxt, type)),
  };
}

function endEarly(cxt: KeywordCxt, generate: Generate): void {
  const { gen } = cxt;
  const faulty = gen.let("faulty", 0);
  const countOne = () => gen.if(_`++${faulty} >= ${FAULTY_PARTS_MAX}`, () => gen.break());
  const subschema = cxt.subschema.bind(cxt);
  cxt.subschema = (part, valid) => {
    const before = gen.const("before", FAULT_COUNT);
    const inner = subschema(part, valid);
    gen.if(_`${FAULT_COUNT} > ${before}`, countOne);
    return inner;
  };
  if (cxt.schema === false && cxt.keyword !== "items" && cxt.keyword !== "unevaluatedItems") {
    const error = cxt.error.bind(cxt);
    cxt.error = (...given) => {
      error(...given);
      countOne();
    };
  }
  generate();
}

/** `contains` must look at all items, but keeps few of the faults of items that do not match. */
function keepFew(cxt: KeywordCxt, generate: Generate): void {
  const { gen } = cxt;
  const faulty = gen.let("faulty", 0);
  const subschema = cxt.subschema.bind(cxt);
  cxt.subschema = (part, valid) => {
    const before = gen.const("before", FAULT_COUNT);
    const inner = subschema(part, valid);
    const isOneTooMany = _`${FAULT_COUNT} > ${before} && ++${faulty} > ${FAULTY_PARTS_MAX}`;
    gen.if(isOneTooMany, () => {
      gen.assign(FAULT_COUNT, before);
      gen.if(
        before,
        () => gen.assign(_`${FAULT_LIST}.length`, before),
        () => gen.assign(FAULT_LIST, null),
      );
    });
    return inner;
  };
  generate();
}

/** ajv writes a short list out in code, which is faster. */
function requireFew(cxt: KeywordCxt, generate: Generate): void {
  const { gen, data, schemaCode } = cxt;
  if ((cxt.schema as readonly string[]).length <= FAULTY_PARTS_MAX) return generate();
  const find = gen.scopeValue("func", { ref: firstMissing });
  gen.forOf("missing", _`${find}(${data}, ${schemaCode as Name})`, (missing) => {
    cxt.setParams({ missingProperty: missing });
    cxt.error();
  });
}

function firstMissing(data: JsonObject, names: readonly string[]): string[] {
  const missing: string[] = [];
  for (const name of names) {
    if (Object.hasOwn(data, name)) continue;
    missing.push(name);
    if (missing.length === FAULTY_PARTS_MAX) break;
  }
  return missing;
}

/** ajv would write every name into each of its faults, and all names into the generated code. */
function requireDependents(cxt: KeywordCxt, ref: unknown): void {
  const { gen, data, schemaCode } = cxt;
  const find = gen.scopeValue("func", { ref });
  gen.forOf("missing", _`${find}(${data}, ${schemaCode as Name})`, (missing) => {
    cxt.setParams({ property: _`${missing}[0]`, missingProperty: _`${missing}[1]` });
    cxt.error();
  });
}

type Dependents = Readonly<Record<string, readonly string[]>>;

function firstMissingDependents(
  data: JsonObject,
  dependents: Dependents,
  budget: Budget,
): [string, string][] {
  const all: [string, string][] = [];
  for (const property of Object.keys(dependents)) {
    if (!Object.hasOwn(data, property)) continue;
    const names = dependents[property]!;
    spend(budget, UNITS_PER_DEPENDENT * names.length);
    for (const missing of firstMissing(data, names)) all.push([property, missing]);
    if (all.length >= FAULTY_PARTS_MAX) break;
  }
  return all;
}
