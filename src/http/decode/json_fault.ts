/**
 * Finds the exact fault in a JSON text; slow, so it runs only for suspicious texts.
 *
 * It finds the first place where a text is malformed, nested too deeply, repeats a key, or
 * holds a number that would change in a double. `json_text.ts` calls it for texts that failed
 * to parse or look suspicious. `jsonc-parser` walks through the text. See
 * docs/reference/writing.md.
 */

import { type JSONVisitor, printParseErrorCode, visit } from "jsonc-parser";
import { limits } from "../../domain/limits.ts";
import { findNumberFault } from "../../domain/json.ts";

export interface JsonFault {
  readonly message: string;
  /** Dotted, e.g. `data.lines.0.qty`; absent if the text cannot be read that far. */
  readonly path?: string;
}

/** The position of a text that is part of another one. */
export interface TextPlace {
  /** The position in the other text of the character at `at`. */
  positionOf(at: number): number;
  /** The path of the container that it belongs to. */
  readonly path: readonly string[];
  /** The index of its first element, if it is an array. */
  readonly firstIndex: number;
}

type Path = readonly (string | number)[];

/** An object or array that is open. */
interface Container {
  /** What must follow its beginning or a comma. */
  readonly member: string;
  /** What must follow a member. */
  readonly next: string;
  readonly keys: Set<string>;
}

/** Ends the search; caught in {@link findJsonFault}. */
class Found extends Error {
  constructor(readonly fault: JsonFault) {
    super();
  }
}

const VALUE = "a value";
const KEY = "a key in double quotes";
const WHOLE: TextPlace = { positionOf: (at) => at, path: [], firstIndex: 0 };

/** The first fault of `text`; undefined if a reader that uses doubles loses nothing. */
export function findJsonFault(text: string, place: TextPlace = WHOLE): JsonFault | undefined {
  try {
    visit(text, faultFinder(text, place), { disallowComments: true });
  } catch (error) {
    if (error instanceof Found) return error.fault;
    throw error;
  }
  return undefined;
}

/** The library says where a text is malformed; what it expected follows from what came before. */
function faultFinder(text: string, place: TextPlace): JSONVisitor {
  const open: Container[] = [];
  let expected = VALUE;

  function refuse(message: string, inner: Path): never {
    const [first] = inner;
    const begin = typeof first === "number" ? [first + place.firstIndex] : inner.slice(0, 1);
    const path = [...place.path, ...begin, ...inner.slice(1)].join(".");
    throw new Found({ message, ...(path !== "" && { path }) });
  }

  function refuseMalformed(at: number, reason?: string): never {
    const isCutOff = at === text.length && expected === VALUE;
    const shown = reason ?? (isCutOff ? "unexpected end" : `${expected} expected`);
    throw new Found({ message: `Malformed JSON at position ${place.positionOf(at)}: ${shown}` });
  }

  function enter(member: string, close: string, path: () => Path): void {
    if (place.path.length + open.length >= limits.jsonDepthMax) {
      refuse(`JSON is nested deeper than ${limits.jsonDepthMax} levels`, path());
    }
    open.push({ member, next: `',' or '${close}'`, keys: new Set() });
    expected = member;
  }

  function leave(at: number): void {
    if (at === text.length) refuseMalformed(at);
    open.pop();
    afterValue();
  }

  function afterValue(): void {
    expected = open.at(-1)?.next ?? "end of the text";
  }

  return {
    onObjectBegin: (_at, _length, _line, _column, path) => enter(KEY, "}", path),
    onArrayBegin: (_at, _length, _line, _column, path) => enter(VALUE, "]", path),
    onObjectEnd: leave,
    onArrayEnd: leave,
    onObjectProperty(key, _at, _length, _line, _column, path) {
      const { keys } = open.at(-1)!;
      if (keys.has(key)) refuse(`Duplicate key in JSON object: ${key}`, [...path(), key]);
      keys.add(key);
      expected = "':'";
    },
    onSeparator(separator) {
      expected = separator === ":" ? VALUE : open.at(-1)!.member;
    },
    onLiteralValue(value, at, length, _line, _column, path) {
      if (typeof value === "number") {
        const message = findNumberFault(text.slice(at, at + length));
        if (message !== undefined) refuse(message, path());
      }
      afterValue();
    },
    onError(code, at, length) {
      if (text[at] === '"' && (expected === VALUE || expected === KEY)) {
        refuseMalformed(...stringFault(text, at));
      }
      const isCutNumber = printParseErrorCode(code) === "UnexpectedEndOfNumber";
      if (isCutNumber && expected === VALUE) refuseMalformed(at + length, "a digit expected");
      refuseMalformed(at);
    },
  };
}

/** A string without its closing quote, as far as it is right. */
const RIGHT_PART = /"(?:[ !#-[\]-\uffff]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y;

/** The library names the string only, not the place in it. */
function stringFault(text: string, start: number): [at: number, reason: string] {
  RIGHT_PART.lastIndex = start;
  RIGHT_PART.test(text);
  const at = RIGHT_PART.lastIndex;
  if (at === text.length) return [at, "unterminated string"];
  return [
    at,
    text[at] === "\\" ? "unknown escape sequence" : "a control character must be escaped",
  ];
}
