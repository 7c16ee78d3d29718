/**
 * Writes the TypeScript module of a spec: an interface for each state and for the data of each
 * event, and one that names them all, which the client is made with.
 *
 * The same spec always gives the same text. Where two types want the same name, the later one gets
 * a number: states before events, and both in the order of their names.
 */

import { runAtOnce } from "../../fairness/pieces.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { commentLines, type NameOf, printObject, printShape, quoted } from "./print_shape.ts";
import { noteOf } from "./schema_shape.ts";
import {
  type Definition,
  isNamed,
  isNever,
  type Kinds,
  kindsOf,
  type Note,
  type Shape,
  shapeOfObjects,
} from "./shape.ts";
import { aggregateShapesSteps } from "./state_shape.ts";
import { TextMap, TextSet } from "../../lookup/text_map.ts";

/** One event type that clients write. */
interface EventTypes {
  readonly event: string;
  readonly data: Shape;
  readonly note: Note | undefined;
}

/** What the types of one aggregate type are made from. */
interface AggregateParts {
  readonly type: string;
  readonly note: Note | undefined;
  readonly state: Kinds;
  readonly events: readonly EventTypes[];
}

const HEADER = [
  "// Written by `daybook types` from the spec. Change the spec, then write it again.",
  "// deno-fmt-ignore-file",
  "// deno-lint-ignore-file",
  "/* eslint-disable */",
];

/** Words that name no interface. */
const RESERVED = new Set(
  ("any as async await bigint boolean break case catch class const continue debugger declare " +
    "default delete do else enum export extends false finally for function if implements import " +
    "in instanceof interface let never new null number object package private protected public " +
    "return static string super switch symbol this throw true try type typeof undefined unknown " +
    "var void while with yield").split(" "),
);

/** Whether an interface may have that name. */
export function isInterfaceName(name: string): boolean {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) && !RESERVED.has(name);
}

/** The module's text. `spec` would pass a deploy; `name` is that of the interface of all types. */
export function writeTypes(spec: JsonObject, name: string): string {
  const aggregates = Object.entries(spec.aggregate_types as JsonObject)
    .map(([type, definition]) => partsOf(type, definition));
  const names = nameTypes(aggregates, name);
  const blocks = aggregates.flatMap((aggregate) => aggregateBlocks(aggregate, names));
  return `${[HEADER.join("\n"), ...blocks, rootBlock(spec, aggregates, names)].join("\n\n")}\n`;
}

function partsOf(type: string, definition: JsonValue): AggregateParts {
  const { state, data } = runAtOnce(aggregateShapesSteps(definition));
  const events: EventTypes[] = [];
  for (const [event, each] of Object.entries((definition as JsonObject).events as JsonObject)) {
    // Events whose names begin so are the platform's own.
    if (event.startsWith("_")) continue;
    const note = noteOf(each) ?? noteOf((each as JsonObject).schema);
    events.push({ event, data: data.get(event)!, note });
  }
  return { type, note: noteOf(definition), state: shapeOfObjects(state), events };
}

interface Names {
  readonly root: string;
  readonly states: ReadonlyMap<string, string>;
  /** By type and event. */
  readonly events: ReadonlyMap<string, string>;
  readonly claim: (wanted: string) => string;
}

function nameTypes(aggregates: readonly AggregateParts[], root: string): Names {
  const taken = new TextSet([root]);
  function claim(wanted: string): string {
    let name = wanted;
    for (let count = 2; taken.has(name); count++) name = `${wanted}${count}`;
    taken.add(name);
    return name;
  }
  const sorted = aggregates.toSorted((a, b) => a.type < b.type ? -1 : 1);
  const states = new Map(sorted.map(({ type }) => [type, claim(`${pascal(type)}State`)]));
  const events = new TextMap<string>();
  for (const { type, events: own } of sorted) {
    for (const event of own.map((each) => each.event).sort()) {
      events.set(`${type}.${event}`, claim(pascal(type) + pascal(event)));
    }
  }
  return { root, states, events, claim };
}

/** `OrderLine` for `order_line`. */
function pascal(text: string): string {
  return text.split(/[^A-Za-z0-9]+/).map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");
}

function aggregateBlocks(
  { type, note, state, events }: AggregateParts,
  names: Names,
): string[] {
  const known = new Map<Definition, string>();
  const waiting: Definition[] = [];
  const blocks: string[] = [];
  let prefix = "";
  const nameOf: NameOf = (definition) => {
    let name = known.get(definition);
    if (name === undefined) {
      const last = pascal(definition.pointer.slice(definition.pointer.lastIndexOf("/") + 1));
      name = names.claim(prefix + (last || "Part"));
      known.set(definition, name);
      waiting.push(definition);
    }
    return name;
  };
  function emit(name: string, shape: Kinds, about: Note | undefined): void {
    blocks.push(declaration({ name, shape, note: about }, nameOf));
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const shape = withoutName(kindsOf({ definition: next }));
      blocks.push(declaration({ name: known.get(next)!, shape, note: next.note }, nameOf));
    }
  }
  const ofEvents: string[] = [];
  for (const { event, data, note } of events) {
    const name = names.events.get(`${type}.${event}`)!;
    prefix = name;
    if (isNamed(data)) known.set(data.definition, name);
    emit(name, withoutName(kindsOf(data)), note);
  }
  ofEvents.push(...blocks.splice(0));
  prefix = names.states.get(type)!;
  emit(prefix, state, note ?? { title: `The state of ${article(type)}.` });
  return [...blocks, ...ofEvents];
}

function article(type: string): string {
  return `${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`;
}

function withoutName(kinds: Kinds): Kinds {
  return { ...kinds, objects: kinds.objects.map(({ fields, rest }) => ({ fields, rest })) };
}

interface Declared {
  readonly name: string;
  readonly shape: Kinds;
  readonly note: Note | undefined;
}

/** An interface, or another type where the shape is not that of one object. */
function declaration({ name, shape, note }: Declared, nameOf: NameOf): string {
  const { types, values, array, objects } = shape;
  const [object, ...others] = objects;
  const isInterface = object !== undefined && others.length === 0 && types.size === 0 &&
    values.length === 0 && array === undefined;
  const lines = commentLines(note);
  if (isInterface) lines.push(`export interface ${name} ${printObject(object, nameOf)}`);
  else if (isNever(shape)) {
    lines.push("// Nothing fits its schema.");
    lines.push(`export interface ${name} {\n  readonly [key: string]: unknown;\n}`);
  } else lines.push(`export type ${name} = ${printShape(shape, nameOf)};`);
  return lines.join("\n");
}

function rootBlock(
  spec: JsonObject,
  aggregates: readonly AggregateParts[],
  { root, states, events: eventNames }: Names,
): string {
  const members = aggregates.flatMap(({ type, events }) => [
    `    readonly ${type}: {`,
    `      readonly state: ${states.get(type)};`,
    ...(events.length === 0 ? ["      readonly events: {};"] : [
      "      readonly events: {",
      ...events.map(({ event }) =>
        `        readonly ${event}: ${eventNames.get(`${type}.${event}`)};`
      ),
      "      };",
    ]),
    "    };",
  ]);
  return [
    ...commentLines(noteOf(spec) ?? { title: "The types of the spec, for the client." }),
    `export interface ${root} {`,
    ...(members.length === 0
      ? ["  readonly aggregates: {};"]
      : ["  readonly aggregates: {", ...members, "  };"]),
    `  readonly actors: ${choiceText(spec.agent_types)};`,
    `  readonly targets: ${choiceText(spec.target_types)};`,
    "}",
  ].join("\n");
}

/** Without any, nobody may be named. */
function choiceText(names: JsonValue | undefined): string {
  const texts = Array.isArray(names) ? names.map((name) => quoted(name as string)) : [];
  return texts.length === 0 ? "never" : texts.join(" | ");
}
