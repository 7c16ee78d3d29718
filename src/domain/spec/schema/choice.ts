/**
 * Replaces `anyOf` and `oneOf` with versions that keep the faults of each branch apart.
 *
 * ajv's own versions mix the faults of all branches. Here a choice also records where the
 * faults of each branch end. `not` and `if` are made to check everything they contain.
 */

import { _, type Ajv2020, type CodeKeywordDefinition, type KeywordCxt } from "ajv/dist/2020.js";
import { FAULT_COUNT } from "./charges.ts";

/** Set by the rewriting on an `anyOf` that replaces an `if`; no deployed schema may use it. */
export const CONDITION_MARK = "x-condition";

/** The parameters of a choice's error. */
export interface ChoiceParams {
  /**
   * For each branch, how many of the faults just before this one come from it or an earlier
   * one.
   */
  readonly ends: readonly number[];
  /** For `oneOf`: the two branches that both match, or null. */
  readonly passing: readonly number[] | null;
  readonly isCondition: boolean;
}

/** Replaces both keywords of `ajv`; they accept the same values as before. */
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
 * Makes `not` and `if` check everything they contain. There ajv stops at the first fault, and
 * then accepts an array shorter than its `prefixItems`, whatever keyword follows.
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

/** Generates code after each branch that records how many faults there are by then. */
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
