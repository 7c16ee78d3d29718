/**
 * Compiles a `wasm` entry, or a `wasm` step of a pipeline.
 *
 * Nothing here runs a module. A step whose answer is not known yet asks for it, and the
 * implications are computed again with the answer. Their result therefore still depends on the
 * event alone. See docs/reference/reactions.md.
 */

import { spend } from "../budget.ts";
import { CONTAINER_UNITS } from "../handler/budget.ts";
import { addFault, childSite, type Evaluation, type Site, slotOf } from "../handler/evaluation.ts";
import { excerpt } from "../handler/path.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { isTypeName } from "../type_name.ts";
import type { ModuleAction } from "../wasm/action_output.ts";
import { implicationInput } from "../wasm/call_input.ts";
import { type ImplicationCall, readImplicationCall } from "../wasm/module_call.ts";
import { type ModuleQuestion, questionKey } from "./module_question.ts";
import { type SizedEmission, sizeEmission } from "./emission.ts";
import { gatherEmit, type Gathering, isOverfull } from "./gathering.ts";
import { failed, type Resolved } from "./resolved.ts";
import { nameStream } from "./stream.ts";
import type { Terms } from "./terms.ts";
import { parseJson } from "../json_text/parse_json.ts";

/** The name under which the steps of a pipeline read what earlier steps have found. */
export const CONTEXT_NAME = "context";

/** Thrown by a step that needs an answer; caught where entries are run. */
export class AnswerMissing extends Error {
  override readonly name = "AnswerMissing";
  constructor(readonly question: ModuleQuestion) {
    super("a module has not answered yet");
  }
}

type ModuleStep = (evaluation: Evaluation, gathering: Gathering) => string | undefined;

/** Compiles the value under `wasm`; `site` is that of the entry or step. Undefined if faulty. */
export function moduleStepAt(
  definition: JsonValue,
  site: Site,
  terms: Terms,
): ModuleStep | undefined {
  const inside = childSite(site, "wasm");
  const read = readImplicationCall(definition, inside.path);
  if (!read.ok) {
    inside.faults.push(...read.violations);
    return undefined;
  }
  const { call } = read;
  const slot = slotOf(CONTEXT_NAME, site.scope);
  if (slot < 0 && call.mode === "transform") {
    const message =
      "A module in transform mode passes its output to the next step, and there is none";
    addFault(childSite(inside, "mode"), "mode_without_pipeline", message, "Put it into a pipeline");
    return undefined;
  }
  terms.moduleCalls.push(call);
  return (evaluation, gathering) => {
    const context = slot < 0 ? {} : evaluation.bindings[slot] as JsonObject;
    const json = answerOf(call, context, evaluation, gathering);
    if (typeof json !== "string") return `wasm: ${json.message}`;
    if (call.mode === "emit") return emitAll(parseJson(json), gathering, terms);
    // The spread copies a key `__proto__` as an ordinary property.
    evaluation.bindings[slot] = { ...context, ...parseJson<JsonObject>(json) };
  };
}

/** The JSON text that the module returned, or why it returned none. */
function answerOf(
  call: ImplicationCall,
  context: JsonObject,
  { event, budget }: Evaluation,
  gathering: Gathering,
): string | { readonly message: string } {
  const inputJson = implicationInput(JSON.stringify(event), JSON.stringify(context));
  spend(budget, CONTAINER_UNITS + inputJson.length);
  const output = call.mode === "emit" ? "actions" : "context";
  const question: ModuleQuestion = { call, output, inputJson };
  const answer = gathering.answers.get(questionKey(question));
  if (answer === undefined) throw new AnswerMissing(question);
  if (!answer.ok) {
    gathering.cause = answer.cause;
    return answer;
  }
  spend(budget, answer.json.length);
  return answer.json;
}

function emitAll(
  actions: readonly ModuleAction[],
  gathering: Gathering,
  terms: Terms,
): string | undefined {
  // Bounded: `isOverfull` ends it at `limits.implicationActionsMax`.
  for (const [index, action] of actions.entries()) {
    if (isOverfull(gathering)) return undefined;
    const emission = emissionOf(action, terms);
    if (emission.kind === "failure") return `wasm: actions[${index}].emit.${emission.message}`;
    if (emission.kind === "value") gatherEmit(gathering, emission.value);
  }
}

function emissionOf(
  { aggregate_type: type, id, event_type: eventType, data }: ModuleAction,
  terms: Terms,
): Resolved<SizedEmission> {
  // Bounded: two.
  for (const [key, name] of [["aggregate_type", type], ["event_type", eventType]] as const) {
    if (!isTypeName(name)) return failed(`${key} "${excerpt(name)}" is not the name of a type`);
  }
  const stream = nameStream(type, id, terms);
  return stream.kind === "value" ? sizeEmission(stream.value, eventType, data) : stream;
}
