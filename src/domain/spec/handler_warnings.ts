/**
 * Warns of parts of handlers and guards that are allowed but hardly intended.
 *
 * These are a path into the data that no event can have because its schema is closed there, and
 * a text that looks like a path.
 */

import { BudgetSpent, newBudget, spend } from "../budget.ts";
import { parseSegments, type Segment } from "../handler/segments.ts";
import { isJsonObject, type JsonValue } from "../json.ts";
import { didYouMean } from "../nearest_name.ts";
import type { Steps } from "../fairness/pieces.ts";
import { type FaultList, joinIndex, joinKey, shorten } from "./fault_list.ts";
import { findReferencesSteps } from "./schema/references.ts";
import {
  type SchemaAt,
  type SchemaView,
  type Viewing,
  viewSchema,
  wholeSchema,
} from "./schema/view.ts";

/**
 * Budget for examining the schemas that one handler's paths lead through; the rest is not
 * judged.
 */
const UNITS_MAX = 1_000_000;
const UNITS_PER_STEP = 16;
const DATA_PATH = /^\$\.data(?=[.[])/;
const PLAIN_PATH = /^(?:data|metadata|state)(?:\.[A-Za-z_][A-Za-z0-9_]*|\[[0-9]+\])+$/;
/** Fields of operations that hold names or locations in the state rather than values. */
const NO_VALUES: ReadonlySet<string> = new Set(["target", "as", "key", "$literal"]);

interface Text {
  readonly text: string;
  readonly path: string;
}

/** A handler, or what a guard reads, and its dotted location. */
export interface PathsIn {
  readonly node: JsonValue;
  readonly path: string;
}

/** Warns of texts in `parts`. They and the `schema` of their event type have compiled. */
export function* warnOfPaths(
  parts: readonly PathsIn[],
  schema: JsonValue,
  warnings: FaultList,
): Steps<void> {
  const paths: Text[] = [];
  for (const part of parts) {
    for (const found of textsIn(part)) {
      yield;
      if (found === undefined) continue;
      warnOfPlainPath(found.text, found.path, warnings);
      if (DATA_PATH.test(found.text)) paths.push(found);
    }
  }
  if (paths.length === 0 || typeof schema !== "object") return;
  const root = wholeSchema(yield* findReferencesSteps(schema));
  const viewing = { budget: newBudget(UNITS_MAX), views: new Map() };
  try {
    for (const { text, path: place } of paths) {
      yield* warnOfMiss(text, root, { path: place, viewing, warnings });
      yield;
    }
  } catch (error) {
    if (!(error instanceof BudgetSpent)) throw error;
  }
}

/** Values that are looked at between two pauses. */
const VALUES_PER_STEP = 64;

/** An array or object whose members are looked at one by one. */
interface OpenNode {
  /** Undefined for an array. */
  readonly names: readonly string[] | undefined;
  readonly members: readonly JsonValue[];
  readonly path: string;
  next: number;
}

/** All texts that stand for values, each with its path; undefined now and then, as a pause. */
function* textsIn({ node, path }: PathsIn): Generator<Text | undefined> {
  // Bounded: as deep as a definition may be.
  const open = [openNode(node, path)];
  let values = 0;
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    if (++values % VALUES_PER_STEP === 0) yield undefined;
    const at = top.next++;
    if (at === top.members.length) {
      open.pop();
      continue;
    }
    const value = top.members[at]!;
    const name = top.names?.[at];
    const isText = typeof value === "string";
    const isValue = name === undefined || !NO_VALUES.has(name) ||
      (isText && DATA_PATH.test(value) && name !== "$literal");
    if (!isValue || !isText && (typeof value !== "object" || value === null)) continue;
    const place = name === undefined ? joinIndex(top.path, at) : joinKey(top.path, name);
    if (isText) yield { text: value, path: place };
    else open.push(openNode(value, place));
  }
}

function openNode(node: JsonValue, path: string): OpenNode {
  if (Array.isArray(node)) return { names: undefined, members: node, path, next: 0 };
  const object = isJsonObject(node) ? node : {};
  return { names: Object.keys(object), members: Object.values(object), path, next: 0 };
}

function warnOfPlainPath(text: string, path: string, warnings: FaultList): void {
  if (!PLAIN_PATH.test(text) || warnings.isFull()) return;
  const meant = text.startsWith("state") ? `@${text.slice("state".length)}` : `$.${text}`;
  warnings.add(
    "text_like_path",
    path,
    `"${shorten(text)}" is a text, though it looks like a path.`,
    `Write "${shorten(meant)}" for the value; {"$literal": "${shorten(text)}"} for the text.`,
  );
}

interface MissSite {
  readonly path: string;
  readonly viewing: Viewing;
  readonly warnings: FaultList;
}

function* warnOfMiss(
  text: string,
  root: SchemaAt,
  { path, viewing, warnings }: MissSite,
): Steps<void> {
  const parsed = parseSegments(text.replace(DATA_PATH, ""));
  if (!parsed.ok || warnings.isFull()) return;
  const missed = yield* findMiss(root, parsed.segments, viewing);
  if (missed === undefined) return;
  warnings.add(
    "path_beyond_schema",
    path,
    `No event has "${shorten(text)}": ${missed.reason}.`,
    didYouMean(missed.name, missed.known, "Declare it in the schema, or correct the path."),
  );
}

interface Miss {
  readonly reason: string;
  readonly name: string;
  readonly known: Iterable<string>;
}

/** Where the schema rules the path out; undefined if it does not or cannot tell. */
function* findMiss(
  root: SchemaAt,
  segments: readonly Segment[],
  viewing: Viewing,
): Steps<Miss | undefined> {
  let at = root;
  for (const segment of segments) {
    spend(viewing.budget, UNITS_PER_STEP + (segment.name?.length ?? 0));
    const view = yield* viewSchema(at, viewing);
    const { types, properties, held, isOpen } = view;
    const name = segment.name ?? "";
    const mayBeObject = segment.name !== undefined && (types?.has("object") ?? true);
    const mayBeArray = (segment.every || segment.index !== -1) && (types?.has("array") ?? true);
    if (!mayBeObject && !mayBeArray) {
      const reason = `its schema says ${[...types ?? []].sort().join(" or ")} there`;
      return { reason, name, known: [] };
    }
    const next = mayBeArray ? mayBeObject ? undefined : held.get("items") : properties.get(name);
    if (next === undefined) {
      if (!isPlain(view) || isOpen || mayBeArray) return undefined;
      const reason = `its schema has no ${shorten(name)} there and takes no other properties`;
      return { reason, name, known: properties.keys() };
    }
    at = next;
  }
  return undefined;
}

/** False where alternatives and conditions may allow more than is declared. */
function isPlain({ branches, held }: SchemaView): boolean {
  for (const forms of branches.values()) if (forms.length > 0) return false;
  // Bounded: of the names, which all differ, at most two let it go on.
  for (const name of held.keys()) {
    if (name !== "items" && name !== "additionalProperties") return false;
  }
  return true;
}
