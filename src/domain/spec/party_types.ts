/**
 * Compiles `agent_types` and `target_types`: who may act, and on whose behalf.
 *
 * See docs/reference/specs.md.
 */

import type { JsonObject } from "../json.ts";
import { isTypeName, TYPE_NAME_HINT } from "../type_name.ts";
import { type FaultList, shorten } from "./fault_list.ts";
import { requireUniqueStrings } from "./shape.ts";

/** The declared agent types: at least one, none starting with `system`. */
export function compileAgentTypes(document: JsonObject, faults: FaultList): ReadonlySet<string> {
  const value = document.agent_types;
  const hint = 'List at least one actor type, for example ["user"].';
  if (value === undefined) {
    faults.add("missing_key", "agent_types", "agent_types is required.", hint);
    return new Set();
  }
  if (Array.isArray(value) && value.length === 0) {
    faults.add("empty_list", "agent_types", "agent_types must not be empty.", hint);
  }
  const names = requireUniqueStrings(value, "agent_types", hint, faults);
  for (const { text, path } of names) {
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
export function compileTargetTypes(document: JsonObject, faults: FaultList): ReadonlySet<string> {
  if (document.target_types === undefined) return new Set();
  const hint = 'For example ["customer"].';
  const names = requireUniqueStrings(document.target_types, "target_types", hint, faults);
  for (const { text, path } of names) checkTypeName(text, "Target type", path, faults);
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
