/**
 * How the functions that a schema is compiled to call each other: by their numbers, looked up when
 * they are called, or by a dynamic anchor (`"3 node"`: function 3 if no schema on the way has it).
 * So each is compiled by itself, in any order, and one that leads back to itself
 * needs no more than one that does not.
 */

import { _, type Ajv2020, type CodeKeywordDefinition, type KeywordCxt } from "ajv/dist/2020.js";
import { callRef } from "ajv/dist/vocabularies/core/ref.js";
import type { ValidateFunction } from "ajv/dist/2020.js";
import { type Budget, spend } from "../../budget.ts";
import { FAULT_COUNT } from "./charges.ts";
import type { DynamicScope } from "./dynamic_scope.ts";

/** A function of a schema, once it is compiled. */
export interface Slot {
  validate?: ValidateFunction;
}

export interface Calls {
  /** The functions of the schema that is being compiled, by their numbers. */
  slots: Slot[];
  /** Where some of them are called by a name that means one or another: which one it means. */
  scope: DynamicScope | undefined;
}

export function installCalls(ajv: Ajv2020, budget: Budget, calls: Calls): void {
  // ajv copies all faults so far when a call brings new ones.
  const copied = (faults: number) => spend(budget, faults);
  const rule = ajv.RULES.all.$ref as { definition: CodeKeywordDefinition };
  rule.definition = {
    ...rule.definition,
    code(cxt: KeywordCxt) {
      const { gen, schema } = cxt;
      const slots = gen.scopeValue("validate", { ref: calls.slots });
      const before = gen.const("before", FAULT_COUNT);
      const [number, anchor] = String(schema).split(" ");
      if (calls.scope === undefined) callRef(cxt, _`${slots}[${Number(number)}].validate`);
      else {
        const scope = gen.scopeValue("obj", { ref: calls.scope });
        const called = gen.const("called", _`${scope}.enter(${Number(number)}, ${anchor ?? null})`);
        callRef(cxt, _`${slots}[${called}].validate`);
        gen.code(_`${scope}.leave(${called})`);
      }
      const charge = gen.scopeValue("func", { ref: copied });
      gen.if(_`${FAULT_COUNT} > ${before}`, _`${charge}(${FAULT_COUNT})`);
    },
  };
}
