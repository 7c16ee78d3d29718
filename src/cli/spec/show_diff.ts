/** Shows the difference of two specs: by place, what was and is there, and what that means. */

import type { SpecDiff } from "../../domain/spec/diff.ts";
import type { Effect, SpecChange } from "../../domain/spec/spec_change.ts";
import { isJsonObject, type JsonValue } from "../../domain/json.ts";
import { KEYWORDS } from "../../domain/spec/schema/vocabulary.ts";
import type { Colour, Paint } from "../terminal/output.ts";

const SIGNS: Readonly<Record<SpecChange["kind"], readonly [string, Colour]>> = {
  added: ["+", "green"],
  removed: ["-", "red"],
  changed: ["~", "yellow"],
};
const EFFECTS: Readonly<Record<Effect, readonly [string, Colour]>> = {
  refused: ["REFUSED", "red"],
  narrower: ["narrower", "yellow"],
  states: ["states", "blue"],
  compatible: ["compatible", "green"],
  none: ["no effect", "dim"],
};
/** Longer values are shown line by line. */
const SHORT_MAX = 60;
/** Longer lines of a value are spread out. */
const LINE_MAX = 90;
/** Longer operations are cut where a whole type is described. */
const OPERATION_MAX = 90;
/** Lines of one value, before and after; more are counted. */
const LINES_MAX = 40;
/** Lines of a value that is compared line by line; comparing costs their product. */
const COMPARED_MAX = 2_000;

/** The changes, each with its meaning, under the types that they belong to. */
export function showDiff({ changes }: SpecDiff, paint: Paint): string {
  const lines: string[] = [];
  let heading = "";
  for (const change of changes) {
    const { group, rest } = placeOf(change.path);
    if (group !== heading) {
      if (lines.length > 0) lines.push("");
      lines.push(paint("bold", heading = group));
    }
    lines.push(...showChange(change, rest, paint));
  }
  return lines.join("\n");
}

/** `order.was_placed` and what follows, or the part of the spec that is no aggregate type. */
function placeOf(path: string): { readonly group: string; readonly rest: string } {
  const inEvent = /^aggregate_types\.([^.[]+)\.events\.([^.[]+)(?:\.(.*))?$/s.exec(path);
  if (inEvent !== null) {
    return { group: `${inEvent[1]}.${inEvent[2]}`, rest: shortPath(inEvent[3] ?? "") };
  }
  const inType = /^aggregate_types\.([^.[]+)(?:\.(.*))?$/s.exec(path);
  if (inType !== null) return { group: inType[1]!, rest: inType[2] ?? "" };
  const [group, rest] = /^(modules\.[a-z_]+|[^.[]+)\.?(.*)$/s.exec(path)?.slice(1) ?? [path, ""];
  return { group: group!, rest: rest! };
}

/**
 * A place in a schema as a place in the data: `schema.properties.lines.items.properties.sku` is
 * `data.lines[].sku`, and `schema.properties.sku.maxLength` is `data.sku (maxLength)`.
 */
function shortPath(path: string): string {
  const [root, ...steps] = stepsOf(path);
  if (root !== "schema") return path;
  let place = "data";
  for (let at = 0; at < steps.length; at++) {
    if (steps[at] === "properties" && at + 1 < steps.length) place += afterDot(steps[++at]!);
    else if (steps[at] === "items" && at + 1 < steps.length) place += "[]";
    else return `${place} (${steps.slice(at).map(afterDot).join("").replace(/^\./, "")})`;
  }
  return place;
}

/** Keys, each with the indexes behind it; odd keys stay as `["odd key"]`. */
function stepsOf(path: string): string[] {
  return path.match(STEP) ?? [];
}

function afterDot(step: string): string {
  return step.startsWith("[") ? step : `.${step}`;
}

/** Whether a schema stands at the path, not the value of a keyword that holds none. */
function isSchemaAt(path: string): boolean {
  const inSchema = /^aggregate_types\.[^.[]+\.events\.[^.[]+\.(schema.*)$/s.exec(path)?.[1];
  const [root, ...steps] = stepsOf(inSchema ?? "");
  if (root !== "schema") return false;
  for (let at = 0; at < steps.length; at++) {
    const [keyword, index] = steps[at]!.split("[");
    const holds = KEYWORDS.get(keyword!)?.holds;
    if (holds === "map") at++;
    const isHeld = holds === "list" ? index !== undefined : holds !== undefined;
    if (!isHeld || at === steps.length) return false;
  }
  return true;
}

/** A schema that is `true` or `false`, and whether a property is required, are told in words. */
function valueText(value: JsonValue, path: string): string {
  if (!isSchemaAt(path)) return JSON.stringify(value);
  if (value === true) return "any value";
  if (value === false) return "no value";
  return value === "required" || value === "optional" ? value : JSON.stringify(value);
}

/** An odd key as paths have it: `["odd key"]`. */
const ODD_KEY = String.raw`\["(?:[^"\\]|\\.)*"\]`;
const STEP = new RegExp(String.raw`${ODD_KEY}|[^.[\]]+(?:\[\d+\])*`, "g");
const SCHEMA_PATH = new RegExp(
  String.raw`aggregate_types\.[^.[\s]+\.events\.[^.[\s]+\.` +
    String.raw`(schema(?:${ODD_KEY}|[^\s;])*?)(?=[.;]?(?:\s|$))`,
  "g",
);

/** Our rules name whole paths; here they stand under the event type already. */
function shortenPaths(message: string): string {
  return message.replace(SCHEMA_PATH, (_, path) => shortPath(path));
}

function showChange(change: SpecChange, place: string, paint: Paint): string[] {
  const [sign, colour] = SIGNS[change.kind];
  const [label, tint] = EFFECTS[change.effect];
  const head = [paint(colour, sign), place, paint(tint, label)].filter((word) => word !== "");
  const whole = summaryOf(change);
  const lines = [
    `  ${head.join(" ")}${whole === undefined ? inlineValues(change, paint) : ""}`,
  ];
  for (const line of whole ?? longValues(change, paint)) lines.push(`      ${line}`);
  lines.push(`      ${shortenPaths(change.meaning)}`);
  if (change.hint !== undefined) lines.push(`      ${paint("dim", change.hint)}`);
  return lines;
}

/** What is in a type that is added or removed as a whole; undefined for all other changes. */
function summaryOf({ kind, path, before, after }: SpecChange): string[] | undefined {
  const whole = kind === "added" ? after : kind === "removed" ? before : undefined;
  if (!isJsonObject(whole)) return undefined;
  if (/^aggregate_types\.[^.[]+$/.test(path)) {
    return Object.entries(isJsonObject(whole.events) ? whole.events : {}).flatMap((entry) =>
      summaryOfEvent(...entry)
    );
  }
  return /^aggregate_types\.[^.[]+\.events\.[^.[]+$/.test(path)
    ? summaryOfEvent("", whole)
    : undefined;
}

/** Its properties, and the operations of its handler, in a line each. */
function summaryOfEvent(name: string, event: JsonValue): string[] {
  if (!isJsonObject(event)) return [];
  const { schema, handler } = event;
  const indent = name === "" ? "" : "  ";
  const lines = name === "" ? [] : [name];
  const properties = isJsonObject(schema) && isJsonObject(schema.properties)
    ? schema.properties
    : {};
  const required = isJsonObject(schema) && Array.isArray(schema.required) ? schema.required : [];
  const shown = Object.entries(properties).map(([key, each]) => {
    const type = isJsonObject(each) && each.type !== undefined ? `: ${typeText(each.type)}` : "";
    return `${key}${required.includes(key) ? "" : "?"}${type}`;
  });
  if (shown.length > 0) lines.push(`${indent}data ${shown.join(", ")}`);
  const operations = Array.isArray(handler) ? handler : handler === undefined ? [] : [handler];
  lines.push(...operations.map((each) => `${indent}${cut(JSON.stringify(each))}`));
  return lines;
}

function typeText(type: JsonValue): string {
  return Array.isArray(type) ? type.join(" | ") : String(type);
}

function cut(text: string): string {
  return text.length <= OPERATION_MAX ? text : `${text.slice(0, OPERATION_MAX - 1)}…`;
}

function isShort(value: JsonValue | undefined): boolean {
  return value === undefined || JSON.stringify(value).length <= SHORT_MAX;
}

/** Values that fit into the line; those that are added or removed as a whole need no other. */
function inlineValues({ path, before, after }: SpecChange, paint: Paint): string {
  if (before === undefined && after === undefined) return "";
  if (!isShort(before) || !isShort(after)) return "";
  const was = before === undefined ? "" : paint("red", valueText(before, path));
  const is = after === undefined ? "" : paint("green", valueText(after, path));
  return `: ${[was, is].filter((text) => text !== "").join(" → ")}`;
}

function longValues({ before, after }: SpecChange, paint: Paint): string[] {
  if (isShort(before) && isShort(after)) return [];
  const lines = compareLines(linesOf(before), linesOf(after));
  const shown = lines.filter(({ side }) => side !== "both").slice(0, LINES_MAX)
    .map(({ side, text }) =>
      side === "before" ? paint("red", `- ${text}`) : paint("green", `+ ${text}`)
    );
  const more = lines.filter(({ side }) => side !== "both").length - shown.length;
  return more > 0 ? [...shown, paint("dim", `and ${more} more lines`)] : shown;
}

/** One line for each element of a list and each member of an object, long ones spread out. */
function linesOf(value: JsonValue | undefined, indent = "", label = ""): string[] {
  if (value === undefined) return [];
  const flat = `${indent}${label}${JSON.stringify(value)}`;
  const isTop = indent === "" && label === "";
  const isOpen = typeof value === "object" && value !== null &&
    (flat.length > LINE_MAX || (isTop && Array.isArray(value)));
  if (!isOpen) return [flat];
  const inner = isTop ? "" : `${indent}  `;
  const members = Array.isArray(value)
    ? value.flatMap((each) => linesOf(each, inner, isTop ? "" : "- "))
    : Object.entries(value).flatMap(([key, each]) => linesOf(each, inner, `${key}: `));
  return isTop ? members : [`${indent}${label}`.trimEnd(), ...members];
}

interface Line {
  readonly side: "before" | "after" | "both";
  readonly text: string;
}

/** The shortest way from one list of lines to the other, by their longest common part. */
export function compareLines(before: readonly string[], after: readonly string[]): Line[] {
  if (before.length > COMPARED_MAX || after.length > COMPARED_MAX) {
    const were = before.map((text): Line => ({ side: "before", text }));
    return [...were, ...after.map((text): Line => ({ side: "after", text }))];
  }
  const width = after.length + 1;
  const common = new Uint16Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      common[i * width + j] = before[i] === after[j]
        ? common[(i + 1) * width + j + 1]! + 1
        : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ side: "both", text: before[i]! });
      [i, j] = [i + 1, j + 1];
    } else if (
      j === after.length ||
      (i < before.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!)
    ) lines.push({ side: "before", text: before[i++]! });
    else lines.push({ side: "after", text: after[j++]! });
  }
  return lines;
}
