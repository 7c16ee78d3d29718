/**
 * The state of a long text that is being read (`json_long.ts`), and what ends the reading: each
 * fault with its place.
 */

import type { JsonObject, JsonValue } from "../../domain/json.ts";
import { ANY_NAMES, type NameCost } from "../../domain/json_text/name_cost.ts";
import { limits } from "../../domain/limits.ts";
import type { Refusal } from "../../domain/refusal.ts";
import { findJsonFault } from "./json_fault.ts";
import { isSpace } from "../../domain/json_text/json_characters.ts";
import { type LongWindow, placeOf } from "./long_window.ts";

/**
 * The size of a group that is parsed at once; also how far the scan goes between checks of the
 * clock.
 */
const GROUP_CHARACTERS = 32 * 1024;
const SPACES_KEPT = 4 * 1024;
/** A longer group has a long string, and the exact search for a fault would take too long. */
const SEARCHED_CHARACTERS_MAX = 256 * 1024;

/** A container that is filled group by group. */
export interface Builder {
  /** Its key or index in its parent; empty for the root. */
  readonly name: string;
  readonly array?: JsonValue[];
  readonly object: JsonObject;
  keys: number;
  /** What precedes the group: nothing, a comma, or a container that was filled separately. */
  after: "start" | "comma" | "container";
}

/** Ends the reading; caught where a step ends. */
export class Fault extends Error {
  constructor(readonly refusal: Refusal) {
    super();
  }
}

/** The state of the reading. */
export interface LongReader extends LongWindow {
  /** The name of the text in refusals. */
  readonly subject: string;
  readonly spacesKept: number;
  readonly cost: NameCost;
  /** The value; complete once the whole text has been read. */
  root: JsonObject | undefined;
  /** Values so far; arrays and objects count twice. */
  nodes: number;
  keys: number;
  /** The number of keys seen before the group. */
  groupKeys: number;
  /** Keys, and texts as short as names, so far; short keys count twice. */
  names: number;
  /** How many of them had been seen when something was last parsed. */
  parsedNames: number;
  readonly builders: Builder[];
  /**
   * By depth: where the currently open container began, its last comma, and the keys seen by
   * then.
   */
  readonly openAt: Int32Array;
  readonly openKeys: Int32Array;
  readonly commaAt: Int32Array;
  readonly commaKeys: Int32Array;
}

/** What a group may be. */
export interface GroupRules {
  /** Default: 32,768. */
  readonly groupCharacters?: number;
  /** Of more white space in a row one character is kept. Default: 4,096. */
  readonly spacesKept?: number;
  /** Default: of any keys. */
  readonly cost?: NameCost;
}

/** Reads the text that `blocks` are together, and takes them out of this list one by one. */
export function openLong(
  blocks: string[],
  subject: string,
  { groupCharacters = GROUP_CHARACTERS, spacesKept = SPACES_KEPT, cost = ANY_NAMES }: GroupRules =
    {},
): LongReader {
  const byDepth = () => new Int32Array(limits.jsonDepthMax + 2);
  return {
    text: "",
    blocks,
    dropped: 0,
    cuts: [],
    subject,
    groupCharacters,
    spacesKept,
    cost,
    root: undefined,
    nodes: 0,
    at: 0,
    keys: 0,
    depth: 0,
    faultyAt: -1,
    groupStart: 0,
    spaces: [],
    groupKeys: 0,
    names: 0,
    parsedNames: 0,
    builders: [],
    openAt: byDepth(),
    openKeys: byDepth(),
    commaAt: byDepth(),
    commaKeys: byDepth(),
  };
}

export function pathOf(reader: LongReader): string[] {
  return reader.builders.slice(1).map(({ name }) => name);
}

/** Refuses the group that ends before `end`, with its fault if there is one. */
export function refuseFault(reader: LongReader, end: number): void {
  const isArray = reader.builders.at(-1)!.array !== undefined;
  const group = reader.text.slice(reader.groupStart, end);
  refuseText(reader, isArray ? `[${group}]` : `{${group}}`);
}

function refuseText(reader: LongReader, whole: string): void {
  // The bracket before the group stands in the whole text, too.
  const positionOf = (at: number) => placeOf(reader, reader.groupStart + at - 1);
  if (whole.length > SEARCHED_CHARACTERS_MAX) {
    const place = `between positions ${positionOf(1)} and ${positionOf(whole.length)}`;
    refuse(`Malformed JSON, a repeated key, or a number that no double holds, ${place}`);
  }
  const firstIndex = reader.builders.at(-1)!.array?.length ?? 0;
  const fault = findJsonFault(whole, { positionOf, path: pathOf(reader), firstIndex });
  if (fault !== undefined) refuse(fault.message, fault.path);
}

/** For a group that is cut off; the fault says so. */
export function refuseGroup(reader: LongReader, group: string): never {
  const isArray = reader.builders.at(-1)!.array !== undefined;
  refuseText(reader, (isArray ? "[" : "{") + group);
  refuse(`${reader.subject} is not valid JSON`);
}

export function refuseAfterContainer(reader: LongReader, end: number): never {
  const close = reader.builders.at(-1)!.array === undefined ? "}" : "]";
  let at = reader.groupStart;
  while (at < end && isSpace(reader.text.charCodeAt(at))) at++;
  refuse(`Malformed JSON at position ${placeOf(reader, at)}: ',' or '${close}' expected`);
}

export function refuse(message: string, path?: string): never {
  throw new Fault({ kind: "bad_request", message, ...(path !== undefined && { path }) });
}

export function refuseTooLarge(message: string, more: { limit: number; path?: string }): never {
  throw new Fault({ kind: "payload_too_large", message, ...more });
}
