/**
 * Compiles `modules.never_cache` and checks the keys of `modules`.
 *
 * Sagas and listeners have compilers of their own.
 */

import type { JsonObject } from "../json.ts";
import { MODULE_KEYS } from "./document.ts";
import { type FaultList, shorten } from "./fault_list.ts";
import { didYouMean } from "../nearest_name.ts";
import { checkKnownKeys, requireObject, requireUniqueStrings } from "./shape.ts";

/** Checks `modules` and returns the aggregate types that are never cached. */
export function compileModules(
  document: JsonObject,
  declaredTypes: readonly string[],
  faults: FaultList,
): ReadonlySet<string> {
  if (document.modules === undefined) return new Set();
  const modules = requireObject(document.modules, "modules", "Write {} for none.", faults);
  if (modules === undefined) return new Set();
  checkKnownKeys(modules, MODULE_KEYS, "modules", faults);
  return compileNeverCache(modules, declaredTypes, faults);
}

function compileNeverCache(
  modules: JsonObject,
  declaredTypes: readonly string[],
  faults: FaultList,
): ReadonlySet<string> {
  if (modules.never_cache === undefined) return new Set();
  const path = "modules.never_cache";
  const hint = "List names of declared aggregate types.";
  const names = requireUniqueStrings(modules.never_cache, path, hint, faults);
  for (const { text, path } of names) {
    if (declaredTypes.includes(text)) continue;
    faults.add(
      "unknown_aggregate_type",
      path,
      `"${shorten(text)}" is not an aggregate type of this spec.`,
      didYouMean(text, declaredTypes, hint),
    );
  }
  return new Set(names.map(({ text }) => text));
}
