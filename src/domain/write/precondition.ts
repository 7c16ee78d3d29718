/**
 * Preconditions: what the sender of a write expects of aggregates, whatever the spec says.
 *
 * Their form is checked here; whether they hold is found out in the transaction of the write. See
 * docs/reference/guards.md.
 */

import type { Budget } from "../budget.ts";
import type { StoredEvent } from "../event.ts";
import type { Steps } from "../fairness/pieces.ts";
import { compilePredicate } from "../handler/compile_handler.ts";
import type { Scope } from "../handler/evaluation.ts";
import { type Guard, guardHolds } from "../handler/guard.ts";
import { explainIdentifier, parseIdentifier, type StreamKey, streamKey } from "../identifier.ts";
import { isJsonObject, isSurelyLonger, type JsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { nameHint } from "../nearest_name.ts";
import { accept, type Outcome, type Refusal, refuse } from "../refusal.ts";
import type { CompiledAggregateType, CompiledSpec } from "../spec/compiled.ts";

export interface Precondition {
  readonly key: StreamKey;
  readonly type: CompiledAggregateType;
  /** The one thing that is expected. */
  readonly expected:
    | { readonly length: number }
    | { readonly exists: boolean }
    | { readonly require: Pick<Guard, "holds"> };
}

const KINDS = ["length", "exists", "require"] as const;
/** Only the state can be read: there is no event yet. */
const STATE_SCOPE: Scope = { state: true, names: [], roots: [] };
/** Never read. */
const NO_EVENT: StoredEvent = {
  key: "",
  type: "",
  data: {},
  metadata: { actor: { type: "", id: "" }, timestamp: 0 },
};

/**
 * Checks the `preconditions` of a body; undefined if there are none. Each predicate is compiled,
 * which may take a few milliseconds.
 */
export function* checkPreconditionSteps(
  sent: unknown,
  spec: CompiledSpec,
): Steps<Outcome<readonly Precondition[] | undefined>> {
  if (sent === undefined) return accept(undefined);
  if (!Array.isArray(sent)) return invalid("preconditions", "preconditions must be an array");
  if (sent.length > limits.preconditionsMax) {
    const message = `preconditions must hold at most ${limits.preconditionsMax} entries`;
    return invalid("preconditions", message);
  }
  const checked: Precondition[] = [];
  for (const [index, value] of sent.entries()) {
    if (index > 0) yield;
    const precondition = checkOne(value, spec, `preconditions.${index}`);
    if (!precondition.ok) return precondition;
    checked.push(precondition.value);
  }
  return accept(checked.length === 0 ? undefined : checked);
}

function checkOne(value: JsonValue, spec: CompiledSpec, path: string): Outcome<Precondition> {
  if (!isJsonObject(value)) return invalid(path, "A precondition must be an object");
  for (const field in value) {
    if (field === "key" || KINDS.some((kind) => kind === field)) continue;
    return invalid(`${path}.${field}`, `Unknown field in a precondition: ${field}`);
  }
  const kinds = KINDS.filter((kind) => Object.hasOwn(value, kind));
  const stream = checkKey(value.key, spec, `${path}.key`);
  if (!stream.ok) return stream;
  if (kinds.length !== 1) {
    return invalid(path, `A precondition has a key and one of ${KINDS.join(", ")}`);
  }
  const expected = checkExpected(kinds[0]!, value, path);
  return expected.ok ? accept({ ...stream.value, expected: expected.value }) : expected;
}

function checkKey(
  key: JsonValue | undefined,
  spec: CompiledSpec,
  path: string,
): Outcome<Pick<Precondition, "key" | "type">> {
  if (typeof key !== "string") return invalid(path, "key must be a string <type>:<id>");
  const colon = key.indexOf(":");
  const name = colon === -1 ? key : key.slice(0, colon);
  const type = spec.aggregateTypes.get(name);
  if (type === undefined) {
    const hint = nameHint(name, spec.aggregateTypes.keys());
    return invalid(path, `Aggregate type '${name.slice(0, 80)}' not found in spec`, hint);
  }
  const id = colon === -1 ? "" : key.slice(colon + 1);
  const identifier = parseIdentifier(id, spec.singletons);
  if (identifier === undefined) {
    return refuse({ kind: "identifier_invalid", path, message: explainIdentifier(id) });
  }
  return accept({ key: streamKey(name, identifier.value), type });
}

function checkExpected(
  kind: typeof KINDS[number],
  { length, exists, require }: JsonObject,
  path: string,
): Outcome<Precondition["expected"]> {
  if (kind === "exists") {
    if (typeof exists === "boolean") return accept({ exists });
    return invalid(`${path}.exists`, "exists must be true or false");
  }
  if (kind === "length") {
    if (Number.isSafeInteger(length) && length as number >= 0) {
      return accept({ length: length as number });
    }
    return invalid(`${path}.length`, "length must be a non-negative integer");
  }
  const place = `${path}.require`;
  const limit = limits.preconditionCharactersMax;
  const isLong = isSurelyLonger(require!, limit) || JSON.stringify(require).length > limit;
  if (isLong) {
    return invalid(place, `require must have at most ${limit} characters of JSON`);
  }
  const compiled = compilePredicate(require!, place, STATE_SCOPE);
  if (compiled.ok) return accept({ require: { holds: compiled.predicate } });
  const [first] = compiled.violations;
  return invalid(first!.path, first!.message, first!.hint);
}

function invalid(path: string, message: string, hint?: string) {
  return refuse({ kind: "write_invalid", path, message, hint });
}

/**
 * The refusal if the precondition does not hold for an aggregate of this length and state; `state`
 * is there if {@link needsState}.
 * @throws {BudgetSpent} if that takes more than one time slice, or than the budget has left.
 */
export function refusePrecondition(
  { key, expected }: Precondition,
  index: number,
  { length, state }: { readonly length: number; readonly state?: JsonObject },
  budget: Budget,
): Refusal | undefined {
  const refusal = { kind: "precondition_failed", index, key, length } as const;
  if ("length" in expected) {
    if (expected.length === length) return undefined;
    const message = `'${key}' has ${length} events, expected ${expected.length}`;
    return { ...refusal, message };
  }
  if ("exists" in expected) {
    if (expected.exists === length > 0) return undefined;
    return { ...refusal, message: length > 0 ? `'${key}' exists` : `'${key}' does not exist` };
  }
  const { require } = expected;
  if (guardHolds(require, { state: state!, event: NO_EVENT }, [], budget)) return undefined;
  return { ...refusal, message: `'${key}' is not as the precondition requires` };
}

/** Whether the precondition is about the state, not only about the length. */
export function needsState({ expected }: Precondition): boolean {
  return "require" in expected;
}
