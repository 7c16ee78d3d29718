/**
 * A spec as somebody types it: the document in the text, or what keeps it from being one, and the
 * place in the text of what a refusal names.
 */

import {
  findNodeAtLocation,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { findNumberFault, isJsonObject, type JsonObject } from "../../../src/domain/json.ts";
import { stepsOf } from "../../../src/domain/spec/fault_list.ts";

/** A part of the text; offsets in characters. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

export interface TextFault extends Range {
  readonly message: string;
}

export type SpecText =
  | {
    readonly ok: true;
    readonly spec: JsonObject;
    /** The place of a path as refusals have it, or of the innermost part of it that is there. */
    readonly locate: (path: string) => Range;
  }
  | { readonly ok: false; readonly fault: TextFault };

/** A spec has at most a million bytes; with white space, this is room enough. */
export const TEXT_CHARACTERS_MAX = 4_000_000;
/** A value is marked by its beginning. */
const MARKED_MAX = 80;

export function readSpecText(text: string): SpecText {
  const read = readJsonText(text);
  if (!read.ok) return read;
  const { value, root } = read;
  if (!isJsonObject(value)) return faultAt(0, 0, "A spec is an object.");
  const fault = numberFault(text, root);
  if (fault !== undefined) return { ok: false, fault };
  return { ok: true, spec: value, locate: (path) => rangeOf(root, path) };
}

/** A value in the text, with its place. */
export type JsonNode = Node;

export type JsonText =
  | { readonly ok: true; readonly value: unknown; readonly root: JsonNode }
  | { readonly ok: false; readonly fault: TextFault };

/** What any text is as JSON. Its numbers may be others than those that were typed. */
export function readJsonText(text: string): JsonText {
  if (text.length > TEXT_CHARACTERS_MAX) return faultAt(0, 0, "The text is too long for a spec.");
  const errors: ParseError[] = [];
  try {
    const root = parseTree(text, errors, { disallowComments: true });
    const [first] = errors;
    if (first !== undefined) {
      const message = `This is not JSON: ${spaced(printParseErrorCode(first.error))}`;
      return faultAt(first.offset, first.offset + first.length, message);
    }
    // Not from the tree: a key such as __proto__ must be an ordinary one.
    const value: unknown = JSON.parse(text);
    return root === undefined ? faultAt(0, 0, "There is no text.") : { ok: true, value, root };
  } catch (error) {
    const reason = error instanceof RangeError ? "it nests too deeply" : (error as Error).message;
    return faultAt(0, 0, `This is not JSON: ${reason}`);
  }
}

/** The first number that would be another one as a double: the server would not see what it was. */
export function numberFault(text: string, root: Node): TextFault | undefined {
  const open = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    // The last one is looked at first.
    for (const child of node.children?.toReversed() ?? []) open.push(child);
    if (node.type !== "number") continue;
    const { offset, length } = node;
    const message = findNumberFault(text.slice(offset, offset + length));
    if (message !== undefined) {
      return { from: offset, to: offset + Math.min(length, MARKED_MAX), message };
    }
  }
  return undefined;
}

function faultAt(from: number, to: number, message: string): { ok: false; fault: TextFault } {
  return { ok: false, fault: { from, to, message } };
}

/** `PropertyNameExpected` gives `property name expected`. */
function spaced(name: string): string {
  return name.replace(/(?<=.)([A-Z])/g, " $1").toLowerCase();
}

function rangeOf(tree: Node, path: string): Range {
  for (const steps = stepsOf(path); steps.length > 0; steps.pop()) {
    const node = findNodeAtLocation(tree, steps);
    if (node === undefined) continue;
    // Of an object or list, its name says more than its first brace.
    const isWhole = node.children !== undefined && node.parent?.type === "property";
    const { offset, length } = isWhole ? node.parent!.children![0]! : node;
    return { from: offset, to: offset + Math.min(length, MARKED_MAX) };
  }
  return { from: tree.offset, to: tree.offset + 1 };
}
