/**
 * `anyOf` and `oneOf`, told apart by branch: the validator's own versions mix the faults of all
 * branches, so each choice also records where the faults of each of its branches end. And `not` and
 * `if`, made whole.
 */

import { _, type Ajv2020, type CodeKeywordDefinition, type KeywordCxt } from "ajv/dist/2020.js";
import { FAULT_COUNT } from "./charges.ts";

/** Set by the rewriting on an `anyOf` that stands for an `if`; no deployed schema may use it. */
export const CONDITION_MARK = "x-condition";

/** What the error of a choice says of itself. */
export interface ChoiceParams {
  /** For each branch, how many of the faults just before this one come from it or one before it. */
  readonly ends: readonly number[];
  /** Of `oneOf`: null, or the two branches that both match. */
  readonly passing: readonly number[] | null;
  readonly isCondition: boolean;
}

/** Replaces both keywords of `ajv`; what they accept stays as it was. */
export function installChoices(ajv: Ajv2020): void {
  for (const keyword of ["anyOf", "oneOf"]) {
    const original = ajv.getKeyword(keyword) as CodeKeywordDefinition;
    ajv.removeKeyword(keyword);
    ajv.addKeyword({
      ...original,
      keyword,
      error: {
        message: "matches no form",
        params: ({ params, parentSchema }) => {
          const isCondition = parentSchema?.[CONDITION_MARK] === true;
          const passing = params.passing ?? null;
          return _`{ends: ${params.ends}, passing: ${passing}, isCondition: ${isCondition}}`;
        },
      },
      code: (cxt) => {
        recordEnds(cxt);
        original.code(cxt);
      },
    });
  }
}

/**
 * Makes `not` and `if` check all of what they hold. ajv stops at the first fault there, and then
 * takes an array that is shorter than its `prefixItems` for valid, whatever keyword comes after.
 */
export function installWholeConditions(ajv: Ajv2020): void {
  for (const keyword of ["not", "if"]) {
    const original = ajv.getKeyword(keyword) as CodeKeywordDefinition;
    ajv.removeKeyword(keyword);
    ajv.addKeyword({
      ...original,
      keyword,
      code: (cxt) => {
        const subschema = cxt.subschema.bind(cxt);
        cxt.subschema = (branch, valid) => subschema({ ...branch, allErrors: true }, valid);
        original.code(cxt);
      },
    });
  }
}

/** Generates, after the code of each branch, a note of how many faults there are by then. */
function recordEnds(cxt: KeywordCxt): void {
  const { gen, errsCount } = cxt;
  const ends = gen.const("_ends", _`[]`);
  const setParams = cxt.setParams.bind(cxt);
  cxt.setParams = (params, assign) => setParams({ ...params, ends }, assign);
  cxt.setParams({});
  const subschema = cxt.subschema.bind(cxt);
  cxt.subschema = (branch, valid) => {
    const inner = subschema(branch, valid);
    gen.code(_`${ends}.push(${FAULT_COUNT} - ${errsCount})`);
    return inner;
  };
}
