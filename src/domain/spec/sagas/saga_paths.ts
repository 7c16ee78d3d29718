/**
 * Checks where `$steps` and `$prev` may be used, and what may follow them.
 *
 * `$steps` is followed by the name of an earlier step. After that name, as after `$prev`, a path
 * either ends or names a part that every event has.
 */

import { looksLikePath } from "../../handler/path.ts";
import { parseSegments } from "../../handler/segments.ts";
import { isJsonObject, type JsonValue } from "../../json.ts";
import { type FaultList, joinIndex, joinKey, shorten } from "../fault_list.ts";
import { didYouMean } from "../../nearest_name.ts";

/** The names of a saga's steps, and those that a path in this location may read. */
export interface StepNames {
  readonly all: readonly string[];
  readonly earlier: readonly string[];
  /** False if no step comes before, so that there is no `$prev`. */
  readonly hasPrev: boolean;
}

const EVENT_PARTS = ["data", "metadata", "key", "id", "type"];
const ROOT = /^\$(steps|prev)(?![A-Za-z0-9_])/;

/** Checks every path in `definition`, at any depth; `{"$literal": ...}` contains no paths. */
export function checkSagaPaths(
  definition: JsonValue,
  names: StepNames,
  path: string,
  faults: FaultList,
): void {
  if (faults.isFull()) return;
  if (typeof definition === "string") {
    if (looksLikePath(definition)) checkPath(definition, names, path, faults);
  } else if (Array.isArray(definition)) {
    definition.forEach((each, index) =>
      checkSagaPaths(each, names, joinIndex(path, index), faults)
    );
  } else if (isJsonObject(definition)) {
    for (const [key, value] of Object.entries(definition)) {
      if (key !== "$literal") checkSagaPaths(value, names, joinKey(path, key), faults);
    }
  }
}

function checkPath(text: string, names: StepNames, path: string, faults: FaultList): void {
  const root = ROOT.exec(text);
  const parsed = root === null ? undefined : parseSegments(text.slice(root[0].length));
  // Other paths and malformed ones are reported where they are compiled.
  if (root === null || parsed === undefined || !parsed.ok) return;
  const [first, second] = parsed.segments;
  if (root[1] === "prev") {
    if (!names.hasPrev) return refusePrev(text, path, faults);
    return checkPart(text, first?.name, first === undefined, path, faults);
  }
  const step = first?.name;
  if (step === undefined || !names.earlier.includes(step)) {
    return faults.add("step_unknown", path, describe(text, step, names), hintFor(step, names));
  }
  checkPart(text, second?.name, second === undefined, path, faults);
}

function refusePrev(text: string, path: string, faults: FaultList): void {
  const message = `"${shorten(text)}" reads the step before, but no step comes before this place.`;
  faults.add("name_unknown", path, message, "Read the trigger with $.data.");
}

function describe(text: string, step: string | undefined, names: StepNames): string {
  const quoted = `"${shorten(text)}"`;
  if (step === undefined) return `${quoted} names no step.`;
  return names.all.includes(step)
    ? `${quoted} reads step "${step}", which has not ended by then.`
    : `${quoted} reads a step that this saga does not have.`;
}

function hintFor(step: string | undefined, { all, earlier }: StepNames): string {
  const known = earlier.length === 0
    ? "No step has ended here; read the trigger with $.data."
    : `Steps that have ended here: ${earlier.join(", ")}.`;
  return step === undefined || all.includes(step) ? known : didYouMean(step, earlier, known);
}

/** `isWhole`: the path ends at the event itself. */
function checkPart(
  text: string,
  part: string | undefined,
  isWhole: boolean,
  path: string,
  faults: FaultList,
): void {
  if (isWhole || (part !== undefined && EVENT_PARTS.includes(part))) return;
  faults.add(
    "path_root_unknown",
    path,
    `"${shorten(text)}" reads a part that no event has.`,
    didYouMean(part ?? "", EVENT_PARTS, `An event has ${EVENT_PARTS.join(", ")}.`),
  );
}
