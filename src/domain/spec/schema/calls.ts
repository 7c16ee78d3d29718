/**
 * How the functions compiled from one schema call each other.
 *
 * A call names a function by its number, looked up at run time, or by a dynamic anchor
 * (`"3 node"`: function 3, unless a schema on the way here has that anchor). Each function can
 * therefore be compiled by itself, in any order, and recursion needs no special case.
 */

import { callRef } from "ajv/dist/vocabularies/core/ref.js";
import {
  _,
  type Ajv2020,
  type CodeKeywordDefinition,
  type KeywordCxt,
  type ValidateFunction,
} from "ajv/dist/2020.js";
import { type Budget, spend } from "../../budget.ts";
import { FAULT_COUNT } from "./charges.ts";
import type { DynamicScope } from "./dynamic_scope.ts";

/** A function of a schema; `validate` is set once it is compiled. */
export interface Slot {
  validate?: ValidateFunction;
}

export interface Calls {
  /** The functions of the schema being compiled, by number. */
  slots: Slot[];
  /** Resolves calls by dynamic anchor at run time; undefined if the schema has none. */
  scope: DynamicScope | undefined;
}

export function installCalls(ajv: Ajv2020, budget: Budget, calls: Calls): void {
  // ajv copies all faults found so far when a call adds new ones.
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
