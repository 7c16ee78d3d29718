/**
 * What checking a value against one schema costs, in the coin of `budget.ts`. Two keywords of ours,
 * which the rewriting puts into every schema and which no deployed schema may use: one charges a
 * visit before it begins, the other charges the faults that it has found.
 */

import { _, type Ajv2020, type KeywordCxt, Name } from "ajv/dist/2020.js";
import { type Budget, spend } from "../../budget.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { limits } from "../../limits.ts";
import type { ItemRecords } from "./evaluated_items.ts";
import { isPlainName, WRITTEN_CHARACTERS_MAX } from "./hostname.ts";

export const VISIT_MARK = "x-units";
export const FAULTS_MARK = "x-faults";

/** Of one visit, of each name that it looks for, and of each of its keywords. */
const UNITS_PER_VISIT = 24;
const UNITS_PER_NAME = 4;
const UNITS_PER_KEYWORD = 4;
/** Of each key of an object that is walked; more where a record is kept of what is evaluated. */
const UNITS_PER_KEY = 64;
const UNITS_PER_EVALUATED_KEY = 192;
/** Of each fault: an object, its path, and its part in all the lists it is copied to. */
const UNITS_PER_FAULT = 400;
/** Of a character that a format looks at. */
const UNITS_PER_FORMAT_CHARACTER = 16;
const UNITS_PER_REGEX_CHARACTER = 128;
/** Of a host name that is not plain: each character is looked up in the tables of Unicode. */
const UNITS_PER_NAME_CHARACTER = 512;
/** What is longer is refused for its length alone, but by formats that may be as long as data. */
const REGEX_CHARACTERS = 2_000;
const FORMAT_CHARACTERS = 8_192;
const LONG_FORMATS = new Set([
  "byte",
  "json-pointer",
  "json-pointer-uri-fragment",
  "relative-json-pointer",
]);
const NAME_FORMATS = new Set(["hostname", "idn-hostname"]);
/** A longer key is charged for each schema that may have to write it, escaped, into a path. */
const KEY_CHARACTERS = 64;
const UNITS_PER_KEY_CHARACTER = 16;

const KEYWORDS_OF_NAMES = [
  "required",
  "properties",
  "patternProperties",
  "dependentRequired",
  "dependentSchemas",
];

/** Keywords that look at each key of an object. */
const READS_KEYS = [
  "additionalProperties",
  "patternProperties",
  "propertyNames",
  "unevaluatedProperties",
  "minProperties",
  "maxProperties",
];

/** The validator's count of faults so far, by the name it has in generated code. */
export const FAULT_COUNT = new Name("errors");

/** What one visit of this schema costs before its data is known. */
export function visitUnits(schema: JsonObject): number {
  let units = UNITS_PER_VISIT + UNITS_PER_KEYWORD * Object.keys(schema).length;
  for (const keyword of KEYWORDS_OF_NAMES) {
    const value = schema[keyword];
    if (typeof value === "object" && value !== null) {
      units += UNITS_PER_NAME * Object.keys(value).length;
    }
  }
  return units;
}

/** Makes all validators of `ajv` spend from `budget`. */
export function installCharges(ajv: Ajv2020, budget: Budget, items: ItemRecords): void {
  const charge = createCharge(budget);
  /** By the place of code generation: how many faults there were before the visit. */
  const starts = new WeakMap<object, Name>();
  ajv.addKeyword({
    keyword: VISIT_MARK,
    before: firstKeyword(ajv),
    schemaType: "number",
    code: (cxt) => {
      starts.set(cxt.it, cxt.gen.const("_start", FAULT_COUNT));
      if (cxt.it.opts.unevaluated) startEvaluated(cxt);
      chargeVisit(cxt, charge, items);
    },
  });
  ajv.addKeyword({
    keyword: FAULTS_MARK,
    post: true,
    code: ({ gen, it }) => {
      const start = starts.get(it)!;
      const faults = gen.scopeValue("func", { ref: charge.faults });
      gen.if(_`${FAULT_COUNT} > ${start}`, _`${faults}(${FAULT_COUNT} - ${start})`);
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

interface Charge {
  readonly fixed: (units: number) => void;
  /** `max`: characters that are looked at. */
  readonly text: (value: JsonValue, units: number, perCharacter: number, max: number) => void;
  /** What a host name costs more than other texts do. */
  readonly name: (value: JsonValue) => void;
  /** `within`: schemas that may write the path of a key. */
  readonly keys: (
    value: JsonValue,
    units: number,
    perKey: number,
    within: number,
    perItem: number,
  ) => void;
  readonly faults: (count: number) => void;
}

function createCharge(budget: Budget): Charge {
  return {
    fixed: (units) => spend(budget, units),
    faults: (count) => spend(budget, UNITS_PER_FAULT * count),
    text: (value, units, perCharacter, max) => {
      if (typeof value === "string") units += perCharacter * Math.min(value.length, max);
      spend(budget, units);
    },
    name: (value) => {
      if (typeof value !== "string" || value.length > WRITTEN_CHARACTERS_MAX) return;
      if (!isPlainName(value)) spend(budget, UNITS_PER_NAME_CHARACTER * value.length);
    },
    keys: (value, units, perKey, within, perItem) => {
      if (isJsonObject(value)) {
        for (const key of Object.keys(value)) {
          units += perKey;
          if (key.length > KEY_CHARACTERS) units += within * UNITS_PER_KEY_CHARACTER * key.length;
        }
      } else if (typeof value === "string") units += value.length;
      else if (Array.isArray(value)) units += perItem * value.length;
      spend(budget, units);
    },
  };
}

function chargeVisit(cxt: KeywordCxt, charge: Charge, { unitsPerItem }: ItemRecords): void {
  const { gen, data, schema, it } = cxt;
  const parent = cxt.parentSchema as JsonObject;
  const { unevaluated } = it.opts;
  const { format } = parent;
  const readsLength = parent.minLength !== undefined || parent.maxLength !== undefined;
  const readsText = readsLength || format !== undefined;
  if (readsText) {
    const text = gen.scopeValue("func", { ref: charge.text });
    const [perCharacter, max] = unitsOfText(format);
    if (NAME_FORMATS.has(format as string)) {
      gen.code(_`${gen.scopeValue("func", { ref: charge.name })}(${data})`);
    }
    gen.code(_`${text}(${data}, ${schema}, ${perCharacter}, ${max})`);
  }
  if (unevaluated || READS_KEYS.some((keyword) => Object.hasOwn(parent, keyword))) {
    const keys = gen.scopeValue("func", { ref: charge.keys });
    const perKey = unevaluated ? UNITS_PER_EVALUATED_KEY : UNITS_PER_KEY;
    const within = READS_KEYS.reduce((sum, keyword) => sum + countSchemas(parent[keyword]), 1);
    gen.code(_`${keys}(${data}, ${schema}, ${perKey}, ${within}, ${unitsPerItem})`);
  } else if (!readsText) {
    gen.code(_`${gen.scopeValue("func", { ref: charge.fixed })}(${schema})`);
  }
}

/** Of one character, and how many there are at most. */
function unitsOfText(format: JsonValue | undefined): [perCharacter: number, max: number] {
  if (format === undefined) return [1, limits.eventDataBytesMax];
  if (format === "regex") return [UNITS_PER_REGEX_CHARACTER, REGEX_CHARACTERS];
  const isLong = LONG_FORMATS.has(format as string);
  return [UNITS_PER_FORMAT_CHARACTER, isLong ? limits.eventDataBytesMax : FORMAT_CHARACTERS];
}

/** Objects in it, which is at least how many schemas. */
function countSchemas(value: JsonValue | undefined): number {
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, inner) => sum + countSchemas(inner), 1);
}
