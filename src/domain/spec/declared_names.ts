/**
 * Compiles the lists of names that a spec declares: `agent_types` and `target_types`, who may act
 * and on whose behalf, and `singletons`, ids that are names. See docs/reference/specs.md.
 */

import type { JsonObject } from "../json.ts";
import { isTypeName, TYPE_NAME_HINT } from "../type_name.ts";
import { type FaultList, shorten } from "./fault_list.ts";
import type { Steps } from "../fairness/pieces.ts";
import { uniqueStringsSteps } from "./shape.ts";
import { RESERVED_SINGLETONS } from "./document.ts";
import { type Texts, TextSet } from "../lookup/text_map.ts";

/** The declared agent types: at least one, none starting with `system`. */
export function* compileAgentTypes(
  document: JsonObject,
  faults: FaultList,
): Steps<Texts> {
  const value = document.agent_types;
  const hint = 'List at least one actor type, for example ["user"].';
  if (value === undefined) {
    faults.add("missing_key", "agent_types", "agent_types is required.", hint);
    return new Set();
  }
  if (Array.isArray(value) && value.length === 0) {
    faults.add("empty_list", "agent_types", "agent_types must not be empty.", hint);
  }
  const names = yield* uniqueStringsSteps(value, "agent_types", hint, faults);
  const declared = new TextSet();
  for (const { text, path } of names) {
    yield;
    declared.add(text);
    if (text.startsWith("system")) {
      faults.add(
        "agent_type_reserved",
        path,
        `Agent type "${shorten(text)}" starts with "system", which is reserved for the platform.`,
        "Choose a name that does not start with system.",
      );
    } else checkTypeName(text, "Agent type", path, faults);
  }
  return declared;
}

/** The declared target types; none if the key is absent. */
export function* compileTargetTypes(
  document: JsonObject,
  faults: FaultList,
): Steps<Texts> {
  if (document.target_types === undefined) return new Set();
  const hint = 'For example ["customer"].';
  const names = yield* uniqueStringsSteps(document.target_types, "target_types", hint, faults);
  const declared = new TextSet();
  for (const { text, path } of names) {
    yield;
    declared.add(text);
    checkTypeName(text, "Target type", path, faults);
  }
  return declared;
}

/** Reports a name that is not a valid type name. */
export function checkTypeName(text: string, what: string, path: string, faults: FaultList): void {
  if (isTypeName(text)) return;
  faults.add(
    "invalid_name",
    path,
    `${what} "${shorten(text)}" is not a valid name.`,
    TYPE_NAME_HINT,
  );
}

const CHARACTERS_MAX = 255;
const HUMANE_CODE = /^[0-9A-Za-z]{9}$/;
const UUID_WITH_TAG =
  /^[0-9a-f]{8}-[0-9a-f]{4}-[45][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}(?::[a-z0-9]{1,10})?$/i;
// deno-lint-ignore no-control-regex -- control characters are just what is looked for
const UNROUTABLE_CHARACTER = /[/\\\u0000-\u001f\u007f]/;

/**
 * The declared singletons and `global`. A name that breaks the naming conventions only gets a
 * warning; a name that could never be addressed is refused. See docs/reference/identifiers.md.
 */
export function* compileSingletons(
  document: JsonObject,
  faults: FaultList,
  warnings: FaultList,
): Steps<Texts> {
  if (document.singletons === undefined) return new Set(["global"]);
  const hint = 'For example ["main"].';
  const names = yield* uniqueStringsSteps(document.singletons, "singletons", hint, faults);
  const declared = new TextSet<string>(["global"]);
  for (const { text, path } of names) {
    yield;
    declared.add(text);
    if (isAddressable(text, path, faults)) warnOfConventions(text, path, warnings);
  }
  return declared;
}

function isAddressable(text: string, path: string, faults: FaultList): boolean {
  if (RESERVED_SINGLETONS.has(text)) {
    faults.add(
      "singleton_reserved",
      path,
      `Singleton "${text}" is reserved: /{aggregate_type}/${text} is a path of the service.`,
      "Choose another name.",
    );
    return false;
  }
  const reason = unroutableReason(text);
  if (reason === undefined) return true;
  faults.add(
    "singleton_unroutable",
    path,
    `Singleton "${shorten(text)}" could never be addressed: it ${reason}.`,
    "Use letters, digits and underscores.",
  );
  return false;
}

function unroutableReason(text: string): string | undefined {
  if (text === "") return "is empty";
  if (text === "." || text === "..") return "is a relative path segment";
  if (text.length > CHARACTERS_MAX) return `is longer than ${CHARACTERS_MAX} characters`;
  if (UNROUTABLE_CHARACTER.test(text)) return "has a slash, a backslash or a control character";
  if (!text.isWellFormed()) return "is not well-formed Unicode";
  return undefined;
}

function warnOfConventions(text: string, path: string, warnings: FaultList): void {
  if (text === "global") {
    warnings.add("singleton_global", path, '"global" is implicit.', "Leave it out of singletons.");
  } else if (HUMANE_CODE.test(text) || UUID_WITH_TAG.test(text)) {
    warnings.add(
      "singleton_like_identifier",
      path,
      `Singleton "${text}" also has the shape of another kind of identifier; it stays a singleton ` +
        "and is never normalized.",
      "Choose a name that is not nine letters or digits and not a UUID.",
    );
  } else if (!/^[A-Za-z0-9_]+$/.test(text)) {
    warnings.add(
      "singleton_naming",
      path,
      `Singleton "${shorten(text)}" has characters other than letters, digits and underscores.`,
      "Use letters, digits and underscores.",
    );
  }
}

/** Names that are sorted or merged in one step. */
const NAMES_PER_STEP = 1_024;

/** The names in the order of `sort()`, in time slices. */
export function* sortNamesSteps(names: Iterable<string>): Steps<string[]> {
  let runs: string[][] = [];
  let run: string[] = [];
  for (const name of names) {
    if (run.push(name) < NAMES_PER_STEP) continue;
    runs.push(run.sort());
    run = [];
    yield;
  }
  runs.push(run.sort());
  while (runs.length > 1) {
    const merged: string[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      merged.push(yield* mergeNames(runs[index]!, runs[index + 1] ?? []));
    }
    runs = merged;
  }
  return runs[0]!;
}

function* mergeNames(left: readonly string[], right: readonly string[]): Steps<string[]> {
  const merged: string[] = [];
  let [atLeft, atRight] = [0, 0];
  for (let count = left.length + right.length; count > 0; count--) {
    if (count % NAMES_PER_STEP === 0) yield;
    const isLeft = atRight === right.length ||
      (atLeft < left.length && left[atLeft]! <= right[atRight]!);
    merged.push(isLeft ? left[atLeft++]! : right[atRight++]!);
  }
  return merged;
}
