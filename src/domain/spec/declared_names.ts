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

/** The declared agent types: at least one, none starting with `system`. */
export function* compileAgentTypes(
  document: JsonObject,
  faults: FaultList,
): Steps<ReadonlySet<string>> {
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
  for (const { text, path } of names) {
    yield;
    if (text.startsWith("system")) {
      faults.add(
        "agent_type_reserved",
        path,
        `Agent type "${shorten(text)}" starts with "system", which is reserved for the platform.`,
        "Choose a name that does not start with system.",
      );
    } else checkTypeName(text, "Agent type", path, faults);
  }
  return new Set(names.map(({ text }) => text));
}

/** The declared target types; none if the key is absent. */
export function* compileTargetTypes(
  document: JsonObject,
  faults: FaultList,
): Steps<ReadonlySet<string>> {
  if (document.target_types === undefined) return new Set();
  const hint = 'For example ["customer"].';
  const names = yield* uniqueStringsSteps(document.target_types, "target_types", hint, faults);
  for (const { text, path } of names) {
    yield;
    checkTypeName(text, "Target type", path, faults);
  }
  return new Set(names.map(({ text }) => text));
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
): Steps<ReadonlySet<string>> {
  if (document.singletons === undefined) return new Set(["global"]);
  const hint = 'For example ["main"].';
  const names = yield* uniqueStringsSteps(document.singletons, "singletons", hint, faults);
  for (const { text, path } of names) {
    yield;
    if (isAddressable(text, path, faults)) warnOfConventions(text, path, warnings);
  }
  return new Set(["global", ...names.map(({ text }) => text)]);
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
