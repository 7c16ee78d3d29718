/** Compiles the `guards` of an event type. See docs/reference/guards.md. */

import { compilePredicate, compileTemplate } from "../handler/compile_handler.ts";
import { HANDLER_SCOPE } from "../handler/evaluation.ts";
import type { Guard, GuardOther } from "../handler/guard.ts";
import { looksLikePath, otherName } from "../handler/path.ts";
import type { Steps } from "../fairness/pieces.ts";
import { explainIdentifier, parseIdentifier } from "../identifier.ts";
import { describeKind, isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { didYouMean, listNames } from "../nearest_name.ts";
import { type FaultList, joinIndex, joinKey, shorten } from "./fault_list.ts";
import { checkKnownKeys, requireObject } from "./shape.ts";
import type { Texts } from "../lookup/text_map.ts";

const GUARD_KEYS = ["require", "message", "with"];
const OTHER_KEYS = ["type", "id"];
const ALIAS = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HINT = 'For example {"require": {"gte": ["@.stock", "$.data.quantity"]}, "message": ' +
  '"Not that many are left"}.';
const WITH_HINT = 'For example {"product": {"type": "product", "id": "$.data.product_id"}}.';

/** What guards may name. */
export interface GuardTerms {
  /** The aggregate types of the spec. */
  readonly types: ReadonlySet<string>;
  readonly singletons: Texts;
}

/** The guards of an event type; empty if it has none. They are usable only without faults. */
export function* compileGuards(
  definition: JsonValue | undefined,
  terms: GuardTerms,
  path: string,
  faults: FaultList,
): Steps<readonly Guard[]> {
  if (definition === undefined) return [];
  if (!Array.isArray(definition)) {
    const kind = describeKind(definition);
    faults.add("wrong_type", path, `${path} must be an array of guards, not ${kind}.`, HINT);
    return [];
  }
  if (definition.length > limits.guardsMax) {
    const message = `${path} has ${definition.length} guards; at most ${limits.guardsMax} may be.`;
    faults.add("too_many", path, message, 'Join predicates with {"and": [...]}.');
    return [];
  }
  const guards: Guard[] = [];
  // Bounded: the guards of one event type.
  for (const [index, value] of definition.entries()) {
    if (faults.isFull()) break;
    yield;
    const guard = yield* compileGuard(value, terms, joinIndex(path, index), faults);
    if (guard !== undefined) guards.push(guard);
  }
  return guards;
}

function* compileGuard(
  value: JsonValue,
  terms: GuardTerms,
  path: string,
  faults: FaultList,
): Steps<Guard | undefined> {
  const definition = requireObject(value, path, HINT, faults);
  if (definition === undefined) return undefined;
  const before = faults.faults.length;
  checkKnownKeys(definition, GUARD_KEYS, path, faults);
  const message = checkMessage(definition.message, `${path}.message`, faults);
  const others = yield* compileOthers(definition.with, terms, `${path}.with`, faults);
  const place = `${path}.require`;
  if (definition.require === undefined) {
    faults.add("missing_key", place, `${place} is required.`, HINT);
    return undefined;
  }
  const names = others.map(({ alias }) => otherName(alias));
  const compiled = compilePredicate(definition.require, place, { state: true, names });
  if (!compiled.ok) faults.addAll(compiled.violations);
  // A definition with a fault may be of any size.
  const isSound = faults.faults.length === before;
  const looksAtState = isSound && JSON.stringify(definition).includes("@");
  return compiled.ok ? { message, others, looksAtState, holds: compiled.predicate } : undefined;
}

function checkMessage(value: JsonValue | undefined, path: string, faults: FaultList): string {
  const max = limits.guardMessageCharactersMax;
  if (typeof value === "string" && value.length > 0 && value.length <= max) return value;
  const hint = "Say in one sentence why such an event is refused.";
  if (value === undefined) faults.add("missing_key", path, `${path} is required.`, hint);
  else if (typeof value !== "string") {
    const message = `${path} must be a string, not ${describeKind(value)}.`;
    faults.add("wrong_type", path, message, hint);
  } else {
    faults.add("invalid_text", path, `${path} must have 1 to ${max} characters.`, hint);
  }
  return "";
}

function* compileOthers(
  value: JsonValue | undefined,
  terms: GuardTerms,
  path: string,
  faults: FaultList,
): Steps<readonly GuardOther[]> {
  if (value === undefined) return [];
  const definition = requireObject(value, path, WITH_HINT, faults);
  if (definition === undefined) return [];
  const entries = Object.entries(definition);
  if (entries.length > limits.guardOthersMax) {
    const message =
      `${path} names ${entries.length} aggregates; at most ${limits.guardOthersMax} ` +
      "may be.";
    faults.add("too_many", path, message, "A write may look at as many in all of its guards.");
    return [];
  }
  const others: GuardOther[] = [];
  // Bounded: as checked above.
  for (const [alias, one] of entries) {
    const place = joinKey(path, alias);
    if (!ALIAS.test(alias)) {
      const message = `"${shorten(alias)}" is no name for an aggregate.`;
      faults.add("invalid_name", place, message, "Letters, digits and _, no digit first.");
    }
    others.push(...compileOther(alias, one, { terms, path: place, faults }));
    yield;
  }
  return others;
}

interface OtherSite {
  readonly terms: GuardTerms;
  readonly path: string;
  readonly faults: FaultList;
}

function compileOther(
  alias: string,
  value: JsonValue,
  { terms, path, faults }: OtherSite,
): GuardOther[] {
  const definition = requireObject(value, path, WITH_HINT, faults);
  if (definition === undefined) return [];
  checkKnownKeys(definition, OTHER_KEYS, path, faults);
  const aggregateType = definition.type;
  if (typeof aggregateType !== "string" || !terms.types.has(aggregateType)) {
    const text = typeof aggregateType === "string" ? aggregateType : "";
    const hint = didYouMean(text, terms.types, `Types here: ${listNames(terms.types)}.`);
    const message = `${path}.type must be an aggregate type of this spec.`;
    faults.add("unknown_aggregate_type", `${path}.type`, message, hint);
    return [];
  }
  const idOf = compileId(definition, { terms, path: `${path}.id`, faults });
  return idOf === undefined ? [] : [{ alias, aggregateType, idOf }];
}

function compileId(
  { id }: JsonObject,
  { terms, path, faults }: OtherSite,
): GuardOther["idOf"] | undefined {
  if (id === undefined) {
    faults.add("missing_key", path, `${path} is required.`, WITH_HINT);
    return undefined;
  }
  const isPath = typeof id === "string" ? looksLikePath(id) : isJsonObject(id);
  const isId = typeof id === "string" && parseIdentifier(id, terms.singletons) !== undefined;
  if (!isPath && !isId) {
    const hint = typeof id === "string" ? explainIdentifier(id) : WITH_HINT;
    faults.add("identifier_invalid", path, `${path} is not an identifier.`, hint);
    return undefined;
  }
  const compiled = compileTemplate(id, path, HANDLER_SCOPE);
  if (!compiled.ok) faults.addAll(compiled.violations);
  return compiled.ok ? compiled.template : undefined;
}
