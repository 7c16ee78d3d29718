/**
 * Compiles a deployed document to a CompiledProjection, or to the list of all its faults.
 *
 * The document is checked against the current spec; each fault has its path in the document.
 * See docs/reference/projections.md.
 */

import { Buffer } from "node:buffer";
import { runAtOnce } from "../fairness/pieces.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { jsonTextSteps } from "../json_text_steps.ts";
import { limits } from "../limits.ts";
import type { Violation } from "../refusal.ts";
import { createFaultList, type FaultList } from "../spec/fault_list.ts";
import { checkKnownKeys, isWithinDepth } from "../spec/shape.ts";
import { isTypeName, TYPE_NAME_HINT } from "../type_name.ts";
import { compileColumns } from "./columns.ts";
import type { CompiledProjection, KnownNames, ProjectionOrigin } from "./definition.ts";
import { PROJECTION_OPERATORS } from "./operators.ts";
import { addUnknownType, compileSources, describeTypes } from "./sources.ts";

export type ProjectionCompilation =
  | { readonly ok: true; readonly projection: CompiledProjection }
  | { readonly ok: false; readonly violations: readonly Violation[] };

const KEYS = [
  "name",
  "for_each",
  "sources",
  "select",
  "include",
  "include_substreams",
  "title",
  "description",
];
/** SQLite reserves these names. */
const RESERVED_PREFIX = "sqlite_";

/**
 * Reports every fault, up to `limits.violationsMax`; never throws. Keeps a reference to
 * `document`.
 */
export function compileProjection(
  document: JsonObject,
  spec: KnownNames,
  origin: ProjectionOrigin = "deploy",
): ProjectionCompilation {
  const faults = createFaultList(limits.violationsMax, "the projection");
  const tooLarge = checkSize(document);
  if (tooLarge !== undefined) return { ok: false, violations: [tooLarge] };
  checkKnownKeys(document, KEYS, "", faults);
  const name = compileName(document.name, faults);
  const forEach = compileForEach(document.for_each, spec, faults);
  const { include_substreams: substreams = false } = document;
  if (typeof substreams !== "boolean") {
    const message = "include_substreams must be true or false.";
    faults.add("wrong_type", "include_substreams", message, "Leave it out for false.");
  }
  const compiled = compileSources(document, spec, origin, faults);
  const { scope: sources, steps, includes, types } = compiled;
  const scope = { ...sources, operators: PROJECTION_OPERATORS };
  const columns = compileColumns(document.select, scope, faults);
  if (faults.faults.length > 0) return { ok: false, violations: faults.faults };
  const projection: CompiledProjection = {
    name,
    document,
    forEach,
    includesSubstreams: substreams === true,
    steps,
    columns,
    types: types.union(new Set([forEach])),
    includes,
    singletons: spec.singletons,
  };
  return { ok: true, projection };
}

function compileName(value: JsonValue | undefined, faults: FaultList): string {
  if (typeof value !== "string" || !isTypeName(value)) {
    const message = value === undefined ? "name is required." : "name is not a valid name.";
    const rule = value === undefined ? "missing_key" : "invalid_name";
    faults.add(rule, "name", message, TYPE_NAME_HINT);
    return "";
  }
  if (value.startsWith(RESERVED_PREFIX)) {
    const message = `Names that start with "${RESERVED_PREFIX}" are reserved.`;
    faults.add("reserved_name", "name", message, "Choose another name.");
  }
  return value;
}

function compileForEach(
  value: JsonValue | undefined,
  spec: KnownNames,
  faults: FaultList,
): string {
  const name = typeof value === "string" ? value : "";
  if (spec.aggregateTypes.has(name)) return name;
  if (typeof value === "string") addUnknownType(value, "for_each", spec, faults);
  else {
    const message = "for_each must be the name of an aggregate type.";
    const rule = value === undefined ? "missing_key" : "wrong_type";
    faults.add(rule, "for_each", message, describeTypes(spec));
  }
  return name;
}

/** Looks at no more than a projection may have. */
function checkSize(document: JsonObject): Violation | undefined {
  const max = limits.projectionBytesMax;
  const text = runAtOnce(jsonTextSteps(document, max));
  if (text.length > max || Buffer.byteLength(text) > max) {
    const message = `The projection has more than ${max} bytes.`;
    return { rule: "too_large", path: "", message, hint: "Split it into several." };
  }
  if (isWithinDepth(document, limits.jsonDepthMax)) return undefined;
  const message = `The projection nests deeper than ${limits.jsonDepthMax} levels.`;
  return { rule: "too_deep", path: "", message, hint: "Flatten it." };
}
