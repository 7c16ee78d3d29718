/**
 * Charges for checking a value against a schema, in the units of `budget.ts`.
 *
 * The rewriting adds two keywords of ours to every schema; no deployed schema may use them. One
 * charges a visit before it begins, the other charges the faults the visit has found. `enum`,
 * `const` and `uniqueItems` compare values by their content, and charge that too.
 */

import { _, type Ajv2020, type KeywordCxt, Name } from "ajv/dist/2020.js";
import { type Budget, BudgetSpent, spend } from "../../budget.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { limits } from "../../limits.ts";
import type { ItemRecords } from "./evaluated_items.ts";
import { isPlainName, WRITTEN_CHARACTERS_MAX } from "./formats/hostname.ts";
import { canonicalJson } from "../../canonical_json.ts";
import {
  areDistinct,
  isInList,
  isScalar,
  type ScalarList,
  scalarListOf,
  type ScalarValue,
} from "../../lookup/scalar_list.ts";
import { escapePointer } from "./vocabulary.ts";

export const VISIT_MARK = "x-units";
export const FAULTS_MARK = "x-faults";

/** Units for one visit, for each name it looks for, and for each of its keywords. */
const UNITS_PER_VISIT = 24;
const UNITS_PER_NAME = 4;
const UNITS_PER_KEYWORD = 4;
/** Units for each key of an object that is walked; more if evaluated properties are recorded. */
const UNITS_PER_KEY = 64;
const UNITS_PER_EVALUATED_KEY = 192;
/** Units for each fault: an object, its path, and its share in every list it is copied to. */
const UNITS_PER_FAULT = 400;
/** Units for each character that a format examines. */
const UNITS_PER_FORMAT_CHARACTER = 16;
const UNITS_PER_REGEX_CHARACTER = 128;
/** Units for each character of a host name that is not plain: it is looked up in Unicode tables. */
const UNITS_PER_NAME_CHARACTER = 512;
/**
 * Longer text is refused by its length alone, except by the formats that allow the length of
 * data.
 */
const REGEX_CHARACTERS = 2_000;
const FORMAT_CHARACTERS = 8_192;
const LONG_FORMATS = new Set([
  "byte",
  "json-pointer",
  "json-pointer-uri-fragment",
  "relative-json-pointer",
]);
const NAME_FORMATS = new Set(["hostname", "idn-hostname"]);
/** A longer key is charged once for each schema that may have to write it, escaped, into a path. */
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

/** The name that the validator's count of faults has in generated code. */
export const FAULT_COUNT = new Name("errors");

/** Units for one visit of this schema before its data is known. */
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
  /** By the context of code generation: the name holding the count of faults before the visit. */
  const starts = new WeakMap<object, Name>();
  ajv.addKeyword({
    keyword: VISIT_MARK,
    before: firstKeyword(ajv),
    schemaType: "number",
    code: (cxt) => {
      starts.set(cxt.it, cxt.gen.const("_start", FAULT_COUNT));
      if (cxt.it.opts.unevaluated) startEvaluated(cxt);
      chargeVisit(cxt, budget, charge, items);
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
 * Starts the record of evaluated properties before any branch runs. ajv would start it in the
 * first branch, and so count what a failing branch has evaluated. It would also use an object
 * with a prototype, on which `constructor` always exists.
 */
function startEvaluated({ gen, it }: KeywordCxt): void {
  it.props = gen.var("props", _`{__proto__: null}`);
}

interface Charge {
  /** Called when an inlined charge has used up the budget. */
  readonly overdrawn: () => never;
  /** The additional cost of a host name. */
  readonly name: (value: JsonValue) => void;
  readonly keys: (value: JsonValue, units: number, rates: KeyRates) => void;
  readonly faults: (count: number) => void;
}

/** `within`: the number of schemas that may write the path of a key. */
type KeyRates = readonly [perKey: number, within: number, perItem: number];

function createCharge(budget: Budget): Charge {
  return {
    overdrawn: () => {
      throw new BudgetSpent();
    },
    faults: (count) => spend(budget, UNITS_PER_FAULT * count),
    name: (value) => {
      if (typeof value !== "string" || value.length > WRITTEN_CHARACTERS_MAX) return;
      if (!isPlainName(value)) spend(budget, UNITS_PER_NAME_CHARACTER * value.length);
    },
    keys: (value, units, [perKey, within, perItem]) => {
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

/** The charges that every visit makes are inlined, because a call costs more than they do. */
function chargeVisit(
  cxt: KeywordCxt,
  budget: Budget,
  charge: Charge,
  { unitsPerItem }: ItemRecords,
): void {
  const { gen, data, schema, it } = cxt;
  const parent = cxt.parentSchema as JsonObject;
  const { unevaluated } = it.opts;
  const { format } = parent;
  const left = _`${gen.scopeValue("obj", { ref: budget })}.left`;
  const overdrawn = _`${gen.scopeValue("func", { ref: charge.overdrawn })}()`;
  const readsLength = parent.minLength !== undefined || parent.maxLength !== undefined;
  const readsText = readsLength || format !== undefined;
  if (readsText) {
    const [perCharacter, max] = unitsOfText(format);
    if (NAME_FORMATS.has(format as string)) {
      gen.code(_`${gen.scopeValue("func", { ref: charge.name })}(${data})`);
    }
    const examined = _`(typeof ${data} == "string" ? Math.min(${data}.length, ${max}) : 0)`;
    gen.if(_`(${left} -= ${schema} + ${perCharacter} * ${examined}) < 0`, overdrawn);
  }
  if (unevaluated || READS_KEYS.some((keyword) => Object.hasOwn(parent, keyword))) {
    const keys = gen.scopeValue("func", { ref: charge.keys });
    const perKey = unevaluated ? UNITS_PER_EVALUATED_KEY : UNITS_PER_KEY;
    const within = READS_KEYS.reduce((sum, keyword) => sum + countSchemas(parent[keyword]), 1);
    gen.code(_`${keys}(${data}, ${schema}, [${perKey}, ${within}, ${unitsPerItem}])`);
  } else if (!readsText) {
    gen.if(_`(${left} -= ${schema}) < 0`, overdrawn);
  }
}

/** Units for each character, and the number of characters charged at most. */
function unitsOfText(format: JsonValue | undefined): [perCharacter: number, max: number] {
  if (format === undefined) return [1, limits.eventDataBytesMax];
  if (format === "regex") return [UNITS_PER_REGEX_CHARACTER, REGEX_CHARACTERS];
  const isLong = LONG_FORMATS.has(format as string);
  return [UNITS_PER_FORMAT_CHARACTER, isLong ? limits.eventDataBytesMax : FORMAT_CHARACTERS];
}

/** Counts the objects inside a value, which is at least the number of schemas. */
function countSchemas(value: JsonValue | undefined): number {
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, inner) => sum + countSchemas(inner), 1);
}

/** Characters of one key in the path of a fault; an answer shows fewer of the whole path. */
const PATH_KEY_CHARACTERS = 600;
/** Long keys whose escaped form is remembered; the paths within one function have fewer. */
const KNOWN_KEYS_MAX = 16;
/** How ajv escapes a key, once for each value beneath it. */
const ESCAPING = /\bkey(\d{1,9})\.replace\(\/~\/g, "~0"\)\.replace\(\/\\\/\/g, "~1"\)/g;

/** The keys in the paths of faults: long ones are cut, and escaped only once. */
export interface KeyPaths {
  /** The name under which generated code finds this: a member of the ajv object. */
  readonly escapeKey: (key: string) => string;
  /** Forgets the keys of the data. */
  readonly forget: () => void;
}

export function createKeyPaths(budget: Budget): KeyPaths {
  const known = new Map<string, string>();
  return {
    escapeKey: (key) => {
      if (key.length <= KEY_CHARACTERS) return escapePointer(key);
      let path = known.get(key);
      if (path !== undefined) return path;
      const shown = key.slice(0, PATH_KEY_CHARACTERS);
      spend(budget, UNITS_PER_KEY_CHARACTER * shown.length);
      path = escapePointer(shown);
      if (known.size === KNOWN_KEYS_MAX) known.clear();
      known.set(key, path);
      return path;
    },
    forget: () => known.clear(),
  };
}

/** Makes generated code escape keys by {@link KeyPaths}. */
export function escapeKeysOnce(source: string): string {
  return source.replace(ESCAPING, "self.escapeKey(key$1)");
}

/** Units for one character of a value encoded for comparison, and for one short value. */
const UNITS_PER_CHARACTER = 24;
const UNITS_PER_VALUE = 16;

/** The lists of `enum` and `const`. Generated code refers to each list by its number. */
export interface AllowedValues {
  readonly add: (values: readonly JsonValue[]) => number;
  readonly has: (value: JsonValue, list: number) => boolean;
}

export function createAllowedValues(budget: Budget): AllowedValues {
  /** Arrays and objects are listed by their canonical texts. */
  const lists: { scalars: ScalarList; composites: ScalarList }[] = [];
  return {
    add: (values) => {
      const composites = values.filter((value) => !isScalar(value)).map(canonicalJson);
      const scalars = values.filter(isScalar);
      lists.push({ scalars: scalarListOf(scalars), composites: scalarListOf(composites) });
      return lists.length - 1;
    },
    has: (value, list) => {
      const { scalars, composites } = lists[list]!;
      if (isScalar(value)) return isInList(value, scalars, budget);
      return composites.size > 0 && isInList(canonicalText(value, budget), composites, budget);
    },
  };
}

export function hasUniqueItems(items: readonly JsonValue[], budget: Budget): boolean {
  spend(budget, UNITS_PER_VALUE * items.length);
  const scalars: ScalarValue[] = [];
  const composites: string[] = [];
  // Bounded: each item is charged.
  for (const item of items) {
    if (isScalar(item)) scalars.push(item);
    else composites.push(canonicalText(item, budget));
  }
  return areDistinct(scalars, budget) && areDistinct(composites, budget);
}

function canonicalText(value: JsonValue, budget: Budget): string {
  const text = canonicalJson(value);
  spend(budget, UNITS_PER_CHARACTER * text.length);
  return text;
}
