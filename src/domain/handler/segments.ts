/**
 * The grammar of paths below their root: `.field`, `["odd key"]`, `[0]`, `[*]`, a trailing `?`.
 *
 * Odd keys may also be quoted as `['odd key']`. See docs/reference/expressions.md. Details:
 * - A plain field name is any run of characters except `. [ ] " ' ? *` and white space.
 * - `.0` is a key of an object or an index of an array; `[0]` is an index only. Indices count
 *   from 0 and have no sign.
 * - A path has at most 64 steps.
 *
 * Bounded: the text of one path in a definition.
 */

import { parseJson } from "../json_text/parse_json.ts";

export interface Segment {
  /** The key, for objects; undefined for `[0]` and `[*]`. */
  readonly name: string | undefined;
  /** The index, for arrays; -1 if the segment is not an index. */
  readonly index: number;
  /**
   * Whether every object inherits a property of this name, so that only `Object.hasOwn` is
   * safe.
   */
  readonly inherited: boolean;
  /** `[*]`: every element. */
  readonly every: boolean;
}

export type ParsedSegments =
  | { readonly ok: true; readonly segments: readonly Segment[]; readonly optional: boolean }
  | { readonly ok: false; readonly message: string };

export const PATH_STEPS_MAX = 64;

const NAME = /[^.[\]"'?*\s]+/y;
const BRACKET = /\[(?:(\*)|(0|[1-9][0-9]{0,8})|("(?:[^"\\]|\\.)*")|'([^'\\]*)')\]/y;
const INDEX = /^(?:0|[1-9][0-9]{0,8})$/;

/** The segment for a key known only at run time, such as the key of `set_at`. */
export function nameSegment(name: string): Segment {
  return keySegment(name, INDEX.test(name) ? Number(name) : -1);
}

function keySegment(name: string, index: number): Segment {
  const inherited = name === "__proto__" || name in Object.prototype;
  return { name, index, inherited, every: false };
}

/** Parses everything after the root, e.g. `.data.lines[0].sku?`; `""` has no segments. */
export function parseSegments(text: string): ParsedSegments {
  const segments: Segment[] = [];
  let position = 0;
  while (position < text.length) {
    if (text[position] === "?" && position === text.length - 1) {
      return { ok: true, segments, optional: true };
    }
    const step = text[position] === "." ? scanName(text, position) : scanBracket(text, position);
    if (step === undefined) return { ok: false, message: describeFault(text, position) };
    segments.push(step.segment);
    if (segments.length > PATH_STEPS_MAX) {
      return { ok: false, message: `A path has at most ${PATH_STEPS_MAX} steps` };
    }
    position = step.end;
  }
  return { ok: true, segments, optional: false };
}

interface Step {
  readonly segment: Segment;
  readonly end: number;
}

function scanName(text: string, position: number): Step | undefined {
  NAME.lastIndex = position + 1;
  const match = NAME.exec(text);
  return match === null ? undefined : { segment: nameSegment(match[0]), end: NAME.lastIndex };
}

function scanBracket(text: string, position: number): Step | undefined {
  BRACKET.lastIndex = position;
  const match = BRACKET.exec(text);
  if (match === null) return undefined;
  const end = BRACKET.lastIndex;
  const [, every, index, quoted, single] = match;
  if (every !== undefined) {
    return { segment: { name: undefined, index: -1, inherited: false, every: true }, end };
  }
  if (index !== undefined) {
    return {
      segment: { name: undefined, index: Number(index), inherited: false, every: false },
      end,
    };
  }
  const name = single ?? parseQuoted(quoted as string);
  return name === undefined ? undefined : { segment: keySegment(name, -1), end };
}

function parseQuoted(text: string): string | undefined {
  try {
    return parseJson(text) as string;
  } catch {
    return undefined; // An escape that JSON does not know.
  }
}

function describeFault(text: string, position: number): string {
  const rest = text.slice(position, position + 20);
  if (text[position] === ".") return `A field name is missing at "${rest}"`;
  if (text[position] === "[") {
    return `"${rest}" is none of [0], [*] and ["key"]`;
  }
  return `"${rest}" cannot follow here; a step starts with "." or "["`;
}
