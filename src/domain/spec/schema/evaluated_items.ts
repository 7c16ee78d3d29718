/**
 * Records which items of an array a schema has evaluated, for `unevaluatedItems`.
 *
 * ajv counts evaluated items from the front. That ignores what `contains` has found, and
 * includes items of failing branches. Here the item indices go into the record that ajv keeps
 * of evaluated properties. A value is either an array or an object, and ajv's handling of that
 * record by branches, conditions and references is right for both.
 */

import {
  _,
  type Ajv2020,
  type CodeKeywordDefinition,
  type KeywordCxt,
  Name,
} from "ajv/dist/2020.js";
import type { Rule } from "ajv/dist/compile/rules.js";
import { alwaysValidSchema } from "ajv/dist/compile/util.js";
import { isJsonObject, type JsonValue } from "../../json.ts";
import type { References } from "./references.ts";

/** What validators record about items, in addition to properties. */
export interface ItemRecords {
  /** False if no schema uses `unevaluatedItems`; then nothing is recorded. */
  isKept: boolean;
  /** Units for each item at each visit. */
  unitsPerItem: number;
}

/** With prefixes alone the record is short; `contains` may record every item. */
const UNITS_PER_ITEM = 8;
const UNITS_PER_FOUND_ITEM = 24;

/** What the validators of a schema have to record. */
export function itemRecordsOf(references: References): ItemRecords {
  const says = (keyword: string) =>
    [...references.places.values()].some(({ schema }) =>
      isJsonObject(schema) && schema[keyword] !== undefined
    );
  if (!says("unevaluatedItems")) return { isKept: false, unitsPerItem: 0 };
  return { isKept: true, unitsPerItem: says("contains") ? UNITS_PER_FOUND_ITEM : UNITS_PER_ITEM };
}

/** Makes the keywords of `ajv` record the items they have evaluated, if `records` asks for it. */
export function installEvaluatedItems(ajv: Ajv2020, records: ItemRecords): void {
  for (const keyword of ["additionalProperties", "unevaluatedProperties"]) {
    mend(ajv, keyword, evaluateObject);
  }
  mend(ajv, "prefixItems", (cxt, generate) => {
    generate();
    if (!records.isKept) return;
    mark(cxt, markFirst, (cxt.schema as readonly unknown[]).length);
  });
  mend(ajv, "items", (cxt, generate) => {
    generate();
    if (records.isKept) evaluateAll(cxt);
  });
  mend(ajv, "contains", (cxt, generate) => {
    if (records.isKept) markFound(cxt);
    generate();
  });
  installUnevaluatedItems(ajv);
}

type Generate = () => void;

/** Wraps the code that a keyword generates, and discards ajv's own record of items. */
function mend(
  ajv: Ajv2020,
  keyword: string,
  code: (cxt: KeywordCxt, generate: Generate) => void,
): void {
  const rule = ajv.RULES.all[keyword] as { definition: CodeKeywordDefinition };
  const original = rule.definition;
  rule.definition = {
    ...original,
    code(cxt, type) {
      code(cxt, () => original.code(cxt, type));
      cxt.it.items = undefined;
    },
  };
}

/** The keyword evaluates all properties of an object; ajv would claim the same for arrays. */
function evaluateObject(cxt: KeywordCxt, generate: Generate): void {
  const { it } = cxt;
  const { props } = it;
  generate();
  if (!(props instanceof Name)) return;
  it.props = props;
  evaluateAll(cxt);
}

function evaluateAll({ gen, it: { props } }: KeywordCxt): void {
  if (props instanceof Name) gen.assign(props, true);
}

function mark({ gen, data, it: { props } }: KeywordCxt, marker: unknown, count: number): void {
  if (!(props instanceof Name)) return;
  const name = gen.scopeValue("func", { ref: marker });
  gen.if(_`${props} !== true`, _`${name}(${props}, ${data}, ${count})`);
}

type EvaluatedItems = Record<number, true>;

function markFirst(evaluated: EvaluatedItems, data: readonly JsonValue[], count: number): void {
  const end = Math.min(data.length, count);
  for (let index = 0; index < end; index++) evaluated[index] = true;
}

/** Each item that `contains` finds is evaluated; if it accepts any item, all of them are. */
function markFound(cxt: KeywordCxt): void {
  const { gen, it } = cxt;
  const { props } = it;
  if (!(props instanceof Name)) return;
  if (alwaysValidSchema(it, cxt.schema)) evaluateAll(cxt);
  const subschema = cxt.subschema.bind(cxt);
  cxt.subschema = (part, valid) => {
    const inner = subschema(part, valid);
    const index = part.dataProp as Name;
    gen.if(_`${valid} && ${props} !== true`, _`${props}[${index}] = true`);
    return inner;
  };
}

function installUnevaluatedItems(ajv: Ajv2020): void {
  const { definition } = ajv.RULES.all.unevaluatedItems as Rule;
  ajv.removeKeyword("unevaluatedItems");
  ajv.addKeyword({ ...definition as CodeKeywordDefinition, code: checkUnevaluated });
}

function checkUnevaluated(cxt: KeywordCxt): void {
  const { gen, schema, data, it } = cxt;
  const { props } = it;
  if (schema === false) {
    const some = gen.scopeValue("func", { ref: hasUnevaluated });
    cxt.setParams({ len: 0 });
    cxt.fail(_`${some}(${data}, ${props as Name})`);
  } else if (!alwaysValidSchema(it, schema)) {
    gen.if(_`${props as Name} !== true`, () => checkEach(cxt, props as Name));
  }
  evaluateAll(cxt);
}

function hasUnevaluated(data: readonly JsonValue[], evaluated: EvaluatedItems | true): boolean {
  if (evaluated === true) return false;
  for (let index = 0; index < data.length; index++) if (!evaluated[index]) return true;
  return false;
}

function checkEach(cxt: KeywordCxt, props: Name): void {
  const { gen, data } = cxt;
  const valid = gen.name("valid");
  gen.forRange("i", 0, _`${data}.length`, (index) => {
    gen.if(_`!${props}[${index}]`, () => {
      cxt.subschema({ keyword: "unevaluatedItems", dataProp: index, dataPropType: 0 }, valid);
    });
  });
}
