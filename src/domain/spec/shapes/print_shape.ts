/** Writes shapes as TypeScript types. Whatever a spec contains stays inside of its quotes. */

import {
  type ArrayShape,
  type Definition,
  type Field,
  isAnyShape,
  isNamed,
  isNever,
  type Kinds,
  type Note,
  type ObjectShape,
  type Shape,
} from "./shape.ts";

/** Gives the name of the type of a definition. */
export type NameOf = (definition: Definition) => string;

const INDENT = "  ";
const PLAIN_KEY = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** What TypeScript finds in every object, also in one that lacks the field of that name. */
const INHERITED: ReadonlySet<string> = new Set(
  ("constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf")
    .split(" "),
);

/** A type as TypeScript text; further lines begin with `indent`. */
export function printShape(shape: Shape, nameOf: NameOf, indent = ""): string {
  if (isNamed(shape)) return nameOf(shape.definition);
  if (shape.isAny) return "unknown";
  const forms = formsOf(shape, nameOf, indent);
  // Only where nothing can be: an optional field that must be absent.
  return forms.length === 0 ? "undefined" : forms.join(" | ");
}

function formsOf(kinds: Kinds, nameOf: NameOf, indent: string): string[] {
  const { types, values, array, objects } = kinds;
  const scalars = new Set(
    [...types].map((type) => type === "integer" ? "number" : type).sort(),
  );
  return [
    ...values.map((value) => typeof value === "string" ? quoted(value) : String(value)),
    ...[...scalars].filter((type) => type !== "null"),
    ...(array === undefined ? [] : [printArray(array, nameOf, indent)]),
    ...objects.map((object) =>
      object.definition === undefined
        ? printObject(object, nameOf, indent)
        : nameOf(object.definition)
    ),
    ...(scalars.has("null") ? ["null"] : []),
  ];
}

function printArray({ prefix, rest, least }: ArrayShape, nameOf: NameOf, indent: string): string {
  if (prefix.length === 0) {
    if (isNever(rest)) return "readonly []";
    return `readonly ${elementText(rest, nameOf, indent)}[]`;
  }
  const elements = prefix.map((each, index) => {
    if (index < least) return printShape(each, nameOf, indent);
    return `${elementText(each, nameOf, indent)}?`;
  });
  if (!isNever(rest)) elements.push(`...${elementText(rest, nameOf, indent)}[]`);
  return `readonly [${elements.join(", ")}]`;
}

/** In parentheses where what follows would belong to a part of the type only. */
function elementText(shape: Shape, nameOf: NameOf, indent: string): string {
  const text = printShape(shape, nameOf, indent);
  if (isNamed(shape) || shape.isAny) return text;
  const isOne = shape.types.size + shape.values.length + shape.objects.length === 1;
  return isOne && shape.array === undefined ? text : `(${text})`;
}

/** The members of an object type between braces. */
export function printObject(
  { fields, rest }: ObjectShape,
  nameOf: NameOf,
  indent = "",
): string {
  const inside = indent + INDENT;
  const members: string[] = [];
  for (const [name, { shape, isOptional, note }] of fields) {
    // A closed object has no field that can have no value.
    if (isNever(shape) && isNever(rest)) continue;
    const key = PLAIN_KEY.test(name) ? name : quoted(name);
    const text = isOptional && INHERITED.has(name) ? "unknown" : printShape(shape, nameOf, inside);
    members.push(...commentLines(note, inside));
    members.push(`${inside}readonly ${key}${isOptional ? "?" : ""}: ${text};`);
  }
  const others = indexText(
    members.length === 0,
    fields,
    rest,
    (shape) => printShape(shape, nameOf, inside),
  );
  if (others !== undefined) members.push(`${inside}readonly [key: string]: ${others};`);
  return `{\n${members.join("\n")}\n${indent}}`;
}

/**
 * The type of all fields together, which TypeScript wants to include those with a name. An object
 * without any field gets one that says so, for `{}` would allow every value.
 */
function indexText(
  isEmpty: boolean,
  fields: ReadonlyMap<string, Field>,
  rest: Shape,
  print: (shape: Shape) => string,
): string | undefined {
  if (isAnyShape(rest)) return "unknown";
  if (isNever(rest)) return isEmpty ? "undefined" : undefined;
  const texts = new Set([print(rest)]);
  let isOptionalSome = false;
  for (const [name, { shape, isOptional }] of fields) {
    if (isAnyShape(shape) || (isOptional && INHERITED.has(name))) return "unknown";
    texts.add(print(shape));
    isOptionalSome ||= isOptional;
  }
  if (isOptionalSome) texts.add("undefined");
  return [...texts].join(" | ");
}

/** A string literal. Line separators are escaped, as old tools take them for the end of a line. */
export function quoted(text: string): string {
  return JSON.stringify(text).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}

const UNPRINTABLE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const COMMENT_CHARACTERS_MAX = 4_000;

/** A doc comment; nothing if nobody wrote anything. */
export function commentLines(note: Note | undefined, indent = ""): string[] {
  const { title, description } = note ?? {};
  const texts = title === description ? [title] : [title, description];
  const lines = texts.filter((text) => text !== undefined && text.trim() !== "")
    .flatMap((text, index) => [...(index > 0 ? [""] : []), ...safeLines(text!)]);
  if (lines.length === 0) return [];
  if (lines.length === 1) return [`${indent}/** ${lines[0]} */`];
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
}

/** Nothing in them ends the comment, and nothing is an instruction to a tool. */
function safeLines(text: string): string[] {
  const short = text.length > COMMENT_CHARACTERS_MAX
    ? `${text.slice(0, COMMENT_CHARACTERS_MAX)} ...`
    : text;
  return short.toWellFormed().trim().split(/\r\n|[\n\r\u2028\u2029]/).map((line) =>
    line.replace(UNPRINTABLE, " ").replaceAll("*/", "*\\/").trimEnd().replace(/^(\s*)@/, "$1\\@")
  );
}
