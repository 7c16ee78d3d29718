/**
 * Checks that recur at every level of a spec: known keys, objects, lists of unique names,
 * depth.
 */

import { describeKind, isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { type FaultList, joinIndex, joinKey, shorten } from "./fault_list.ts";
import { runAtOnce, type Steps } from "../fairness/pieces.ts";
import { didYouMean } from "../nearest_name.ts";
import { TextMap } from "../lookup/text_map.ts";

/** Reports each key of `object` that is not in `known`; `version` has its own rule at the root. */
export function checkKnownKeys(
  object: JsonObject,
  known: readonly string[],
  path: string,
  faults: FaultList,
): void {
  for (const key of Object.keys(object)) {
    if (faults.isFull()) return;
    if (known.includes(key)) continue;
    const place = path === "" ? faults.document : path;
    faults.add(
      "unknown_key",
      joinKey(path, key),
      `"${shorten(key)}" is not a key of ${place}.`,
      didYouMean(key, known, `Known keys here: ${known.join(", ")}.`),
    );
  }
}

/** The value if it is an object; otherwise reports a fault and returns undefined. */
export function requireObject(
  value: JsonValue | undefined,
  path: string,
  hint: string,
  faults: FaultList,
): JsonObject | undefined {
  if (isJsonObject(value)) return value;
  const missing = value === undefined;
  faults.add(
    missing ? "missing_key" : "wrong_type",
    path,
    missing ? `${path} is required.` : `${path} must be an object, not ${describeKind(value)}.`,
    hint,
  );
  return undefined;
}

interface PlacedText {
  readonly text: string;
  readonly path: string;
}

/** The strings of a list, each once; reports values that are repeated or not strings. */
export function requireUniqueStrings(
  value: JsonValue,
  path: string,
  hint: string,
  faults: FaultList,
): PlacedText[] {
  return runAtOnce(uniqueStringsSteps(value, path, hint, faults));
}

/** The same in time slices, for lists that may be long. */
export function* uniqueStringsSteps(
  value: JsonValue,
  path: string,
  hint: string,
  faults: FaultList,
): Steps<PlacedText[]> {
  if (!Array.isArray(value)) {
    faults.add(
      "wrong_type",
      path,
      `${path} must be an array of strings, not ${describeKind(value)}.`,
      hint,
    );
    return [];
  }
  const seen = new TextMap<number>();
  const strings: PlacedText[] = [];
  for (const [index, text] of value.entries()) {
    if (faults.isFull()) break;
    yield;
    const place = joinIndex(path, index);
    if (typeof text !== "string") {
      faults.add(
        "wrong_type",
        place,
        `${place} must be a string, not ${describeKind(text)}.`,
        hint,
      );
    } else if (seen.has(text)) {
      faults.add(
        "duplicate",
        place,
        `"${shorten(text)}" is listed twice, first at ${joinIndex(path, seen.get(text)!)}.`,
        "List each name once.",
      );
    } else {
      seen.set(text, index);
      strings.push({ text, path: place });
    }
  }
  return strings;
}

/** True when `value` nests at most `depthMax` arrays and objects. Not recursive itself. */
export function isWithinDepth(value: unknown, depthMax: number): boolean {
  return runAtOnce(isWithinDepthSteps(value, depthMax));
}

/** The same in time slices, for values that may be large. */
export function* isWithinDepthSteps(value: unknown, depthMax: number): Steps<boolean> {
  // Bounded: at most `depthMax`.
  const open: { readonly members: readonly unknown[]; next: number }[] = [];
  let item = value;
  for (let count = 1;; count++) {
    if (count % MEMBERS_PER_STEP === 0) yield;
    if (typeof item === "object" && item !== null) {
      if (open.length >= depthMax) return false;
      // A list may have hundreds of thousands of elements, so it is not copied.
      open.push({ members: Array.isArray(item) ? item : Object.values(item), next: 0 });
      yield;
    }
    let top = open.at(-1);
    while (top !== undefined && top.next === top.members.length) {
      open.pop();
      top = open.at(-1);
    }
    if (top === undefined) return true;
    item = top.members[top.next++];
  }
}

/** Members that are looked at in one step. */
const MEMBERS_PER_STEP = 256;
