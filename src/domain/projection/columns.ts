/**
 * Compiles `select`: the columns of a projection.
 *
 * A column is a path, an operator, a path with a type, or an object of templates. A value that
 * does not have its column's type becomes null.
 */

import { compileDefinition } from "../handler/compile_handler.ts";
import type { Evaluation, Scope } from "../handler/evaluation.ts";
import { looksLikePath } from "../handler/path.ts";
import { templateAt } from "../handler/template.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { didYouMean } from "../nearest_name.ts";
import { type FaultList, joinIndex, joinKey, shorten } from "../spec/fault_list.ts";
import { checkKnownKeys, requireObject } from "../spec/shape.ts";
import type { CompiledColumn } from "./definition.ts";
import type { ColumnType } from "./ready_projection.ts";

const COLUMN_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const SELECT_HINT = 'For example {"total": {"path": "$.order.total", "type": "number"}}.';
/** Types that a definition may name. */
const TYPE_NAMES = ["string", "integer", "number", "boolean", "timestamp", "json"] as const;
const OPERATOR_TYPES: Readonly<Record<string, ColumnType>> = {
  $map: "json",
  $count: "integer",
  $sum: "number",
};
const ISO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;
/** The end of the year 9999; later dates do not have a four-digit year. */
const TIMESTAMP_MAX_S = 253_402_300_799;
const MS_PER_SECOND = 1000;

export function compileColumns(
  value: JsonValue | undefined,
  scope: Scope,
  faults: FaultList,
): CompiledColumn[] {
  const select = requireObject(value, "select", SELECT_HINT, faults);
  if (select === undefined) return [];
  const names = Object.keys(select);
  if (names.length === 0 || names.length > limits.projectionColumnsMax) {
    const message = `A projection has 1 to ${limits.projectionColumnsMax} columns; this one has ` +
      `${names.length}.`;
    faults.add(names.length === 0 ? "missing_key" : "too_many", "select", message, SELECT_HINT);
  }
  const seen = new Map<string, string>();
  return names.slice(0, limits.projectionColumnsMax).flatMap((name) => {
    const path = joinKey("select", name);
    checkColumnName(name, path, seen, faults);
    return compileColumn(name, select[name]!, { path, scope, faults }) ?? [];
  });
}

function checkColumnName(
  name: string,
  path: string,
  seen: Map<string, string>,
  faults: FaultList,
): void {
  const lower = name.toLowerCase();
  const twin = seen.get(lower);
  seen.set(lower, name);
  if (!COLUMN_NAME.test(name)) {
    const message = `Column "${shorten(name)}" is not a valid name.`;
    const hint = "Use 1 to 64 letters, digits and underscores, not starting with a digit.";
    faults.add("invalid_name", path, message, hint);
  } else if (lower === "key") {
    const message = 'Every table has a column "key" already: the id of the aggregate.';
    faults.add("reserved_name", path, message, "Choose another name, or leave it out.");
  } else if (twin !== undefined) {
    const message = `Columns "${twin}" and "${name}" differ in case alone.`;
    faults.add("duplicate", path, message, "SQL takes them for one: rename one of them.");
  }
}

interface ColumnSite {
  readonly path: string;
  readonly scope: Scope;
  readonly faults: FaultList;
}

function compileColumn(
  name: string,
  definition: JsonValue,
  { path, scope, faults }: ColumnSite,
): CompiledColumn | undefined {
  if (isJsonObject(definition) && isTyped(definition)) {
    return typedColumn(name, definition, { path, scope, faults });
  }
  const isPath = typeof definition === "string" && looksLikePath(definition);
  const isObject = isJsonObject(definition) && Object.keys(definition).length > 0;
  if (!isPath && !isObject) {
    const message = "A column is a path, an operator, a path with a type, or an object of these.";
    const hint = 'For example "$.order.status"; for a fixed value {"$literal": ...}.';
    faults.add("wrong_type", path, message, hint);
    return undefined;
  }
  const isShape = isJsonObject(definition) && !isOperator(definition);
  if (isShape) checkShape(definition, path, scope, faults);
  const read = compileRead(definition, path, scope, faults);
  if (isShape) return read && { name, type: "json", read };
  const type = isJsonObject(definition) ? OPERATOR_TYPES[Object.keys(definition)[0]!] : undefined;
  return read && { name, type: type ?? "any", read };
}

/**
 * True for a path with a type, or an attempt at one; false for an object with a path under
 * `type`.
 */
function isTyped(definition: JsonObject): boolean {
  const { path, type } = definition;
  if (path !== undefined) return true;
  if (typeof type !== "string" || looksLikePath(type)) return false;
  return isTypeName(type) || Object.keys(definition).length === 1;
}

function isTypeName(value: JsonValue | undefined): boolean {
  // Bounded: six names.
  return TYPE_NAMES.some((each) => each === value);
}

/** Reports texts that a shape would show literally although a value was meant. */
function checkShape(shape: JsonValue, path: string, scope: Scope, faults: FaultList): void {
  if (typeof shape === "string") return checkText(shape, path, scope, faults);
  if (typeof shape !== "object" || shape === null) return;
  if (isJsonObject(shape) && isOperator(shape)) return;
  if (isJsonObject(shape) && shape.path !== undefined && isTypeName(shape.type)) {
    const hint = "Write the path alone, or make it a column of its own.";
    faults.add("type_in_shape", path, "Only columns have types, not what is within one.", hint);
    return;
  }
  // Bounded: `limits.projectionBytesMax`.
  for (const [key, value] of Object.entries(shape)) {
    const place = Array.isArray(shape) ? joinIndex(path, Number(key)) : joinKey(path, key);
    checkShape(value, place, scope, faults);
  }
}

function checkText(text: string, path: string, { roots = [] }: Scope, faults: FaultList): void {
  const head = /^([A-Za-z_]\w*)[.[]/.exec(text)?.[1];
  if (head === undefined || !roots.includes(head)) return;
  const shown = shorten(text);
  const hint = `Write "$.${shown}"; for the text itself {"$literal": "${shown}"}.`;
  faults.add("path_without_root", path, `"${shown}" is a text, not a path.`, hint);
}

function isOperator(definition: JsonObject): boolean {
  // Bounded: the keys of one column in a definition.
  return Object.keys(definition).some((key) => key.startsWith("$"));
}

function typedColumn(
  name: string,
  definition: JsonObject,
  { path, scope, faults }: ColumnSite,
): CompiledColumn | undefined {
  checkKnownKeys(definition, ["path", "type"], path, faults);
  const type = TYPE_NAMES.find((each) => each === definition.type);
  if (type === undefined) {
    const text = typeof definition.type === "string" ? definition.type : "";
    const hint = didYouMean(text, TYPE_NAMES, `Types are ${TYPE_NAMES.join(", ")}.`);
    faults.add("column_type_unknown", `${path}.type`, "The column has no known type.", hint);
  }
  const { path: text } = definition;
  if (typeof text !== "string" || !looksLikePath(text)) {
    const hint = 'For example {"path": "$.order.total", "type": "number"}.';
    faults.add("missing_key", `${path}.path`, "A typed column needs a path.", hint);
    return undefined;
  }
  const read = compileRead(text, `${path}.path`, scope, faults);
  if (read === undefined || type === undefined) return undefined;
  return { name, type, read: (evaluation) => convert(type, read(evaluation) ?? null) };
}

function compileRead(
  definition: JsonValue,
  path: string,
  scope: Scope,
  faults: FaultList,
): ((evaluation: Evaluation) => JsonValue | undefined) | undefined {
  const compiled = compileDefinition(definition, path, scope, templateAt);
  if (compiled.ok) return compiled.value.view;
  faults.addAll(compiled.violations);
  return undefined;
}

function convert(type: ColumnType, value: JsonValue): JsonValue {
  switch (type) {
    case "string":
      return typeof value === "string" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "integer":
      return Number.isSafeInteger(value) ? value : null;
    case "timestamp":
      return timeText(value);
    default:
      return value;
  }
}

/** Converts Unix seconds, or an ISO 8601 time with its zone, to ISO 8601 in UTC; else null. */
function timeText(value: JsonValue): string | null {
  if (typeof value === "number") {
    const isTime = value >= 0 && value <= TIMESTAMP_MAX_S;
    return isTime ? new Date(value * MS_PER_SECOND).toISOString() : null;
  }
  if (typeof value !== "string" || !ISO_TIME.test(value)) return null;
  const ms = Date.parse(value);
  const isTime = ms >= 0 && ms < (TIMESTAMP_MAX_S + 1) * MS_PER_SECOND;
  return isTime ? new Date(ms).toISOString() : null;
}
