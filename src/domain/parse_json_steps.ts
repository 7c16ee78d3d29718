/**
 * Reads a long JSON text of our own in steps that the thread may be left between.
 *
 * The text was made by `JSON.stringify` and is not checked. Texts of clients are read with all
 * checks by `json_long.ts` of the edge.
 */

import { assert } from "./assert.ts";
import type { Steps } from "./fairness/pieces.ts";
import { type JsonObject, type JsonValue, putMember } from "./json.ts";
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "./json_text/json_characters.ts";
import { parseJson } from "./json_text/parse_json.ts";

/** The size of a group that is parsed at once; also how far the scan goes in one step. */
const GROUP_CHARACTERS = 32 * 1024;

/** The same between looks at the clock: not many keys, each of which may take a while. */
const IN_TIME_CHARACTERS = 8 * 1024;

interface Reader {
  readonly text: string;
  readonly groupCharacters: number;
  /** Containers that are filled group by group, the root first. */
  readonly filling: (JsonObject | JsonValue[])[];
  /** By depth: where the open container began, and its last comma. */
  readonly openAt: number[];
  readonly commaAt: number[];
  depth: number;
  /** Where the group begins that is scanned. */
  start: number;
}

/** The same value as that of `JSON.parse`, for a text that is a JSON object. */
export function* parseJsonSteps(
  text: string,
  groupCharacters: number = GROUP_CHARACTERS,
): Steps<JsonObject> {
  if (text.length <= groupCharacters) return parseJson(text);
  const root: JsonObject = {};
  const begin = text.indexOf("{") + 1;
  const reader: Reader = {
    text,
    groupCharacters,
    filling: [root],
    openAt: [-1, begin],
    commaAt: [-1, -1],
    depth: 1,
    start: begin,
  };
  let stop = begin + groupCharacters;
  for (let at = begin; reader.depth > 0; at++) {
    assert(at < text.length, "a stored text is whole");
    if (at >= stop) {
      yield;
      stop = at + groupCharacters;
    }
    at = passToken(reader, at);
  }
  return root;
}

/** The same, or undefined if it takes too long: its keys may be slow to find. */
export function parseJsonInTime(text: string, isLate: () => boolean): JsonObject | undefined {
  const steps = parseJsonSteps(text, IN_TIME_CHARACTERS);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (isLate()) return undefined;
  }
}

/** The last character of the token at `at`; brackets and commas are noted. */
function passToken(reader: Reader, at: number): number {
  const code = reader.text.charCodeAt(at);
  if (code === QUOTE) return endOfString(reader.text, at);
  if (code === COMMA) {
    reader.commaAt[reader.depth] = at;
    flushUpTo(reader, at);
  } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
    flushUpTo(reader, at);
    reader.depth++;
    reader.openAt[reader.depth] = at;
    reader.commaAt[reader.depth] = -1;
  } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
    if (reader.depth === reader.filling.length) {
      flush(reader, at);
      reader.filling.pop();
    }
    reader.depth--;
  }
  return at;
}

function endOfString(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1);; at = text.indexOf('"', at + 1)) {
    assert(at !== -1, "a stored text is whole");
    let slashes = 0;
    while (text[at - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return at;
  }
}

/** Parses what is complete before `at`, and fills containers apart that have become too long. */
function flushUpTo(reader: Reader, at: number): void {
  while (at - reader.start >= reader.groupCharacters) {
    const level = reader.filling.length;
    if (reader.commaAt[level]! >= reader.start) flush(reader, reader.commaAt[level]!);
    else if (level < reader.depth) fillApart(reader, reader.openAt[level + 1]!);
    else return;
  }
}

/** Adds the members before the comma or bracket at `end` to their container. */
function flush(reader: Reader, end: number): void {
  const group = groupBefore(reader, end);
  reader.start = end + 1;
  if (group === "") return;
  const container = reader.filling.at(-1)!;
  // Bounded: the members of one group.
  if (Array.isArray(container)) {
    for (const element of parseJson<JsonValue[]>(`[${group}]`)) container.push(element);
  } else {
    const members: JsonObject = parseJson(`{${group}}`);
    for (const name of Object.keys(members)) putMember(container, name, members[name]!);
  }
}

/** What is scanned, without the comma behind a container that was filled apart. */
function groupBefore({ text, start }: Reader, end: number): string {
  const group = text.slice(start, end).trim();
  return group.startsWith(",") ? group.slice(1).trim() : group;
}

/** The container that begins at `open` was part of the group so far. */
function fillApart(reader: Reader, open: number): void {
  const child = reader.text.charCodeAt(open) === OPEN_BRACKET ? [] : {};
  const parent = reader.filling.at(-1)!;
  const before = groupBefore(reader, open);
  if (Array.isArray(parent)) parent.push(child);
  else putMember(parent, Object.keys(parseJson(`{${before}0}`))[0]!, child);
  reader.filling.push(child);
  reader.start = open + 1;
}
