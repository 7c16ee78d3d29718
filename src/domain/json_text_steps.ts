/** JSON texts of values that a client sized, in steps that the thread may be left between. */

import type { JsonObject, JsonValue } from "./json.ts";
import type { Steps } from "./fairness/pieces.ts";

/** So many values are written in one step, in some tens of microseconds. */
const VALUES_PER_STEP = 256;

/** An array or object that is being written. */
interface Open {
  /** Undefined for an array. */
  readonly names: readonly string[] | undefined;
  readonly value: JsonObject | readonly JsonValue[];
  readonly count: number;
  at: number;
}

/**
 * The text that `JSON.stringify` makes, or only its beginning if it has more than `charactersMax`
 * characters: that beginning then has more of them, too.
 */
export function* jsonTextSteps(value: JsonValue, charactersMax: number): Steps<string> {
  // The tokens are joined in each step. Added to one string, they would all be joined at its end.
  const parts: string[] = [];
  let tokens: string[] = [];
  let characters = 0;
  let values = 0;
  /** Bounded: as deep as the value, whose depth its reader has limited. */
  const open: Open[] = [];

  function write(token: string): void {
    tokens.push(token);
    characters += token.length;
  }

  function begin(value: JsonValue): void {
    if (typeof value !== "object" || value === null) return write(JSON.stringify(value));
    const names = Array.isArray(value) ? undefined : Object.keys(value);
    write(names === undefined ? "[" : "{");
    const count = names?.length ?? (value as readonly JsonValue[]).length;
    open.push({ names, value: value as Open["value"], count, at: 0 });
  }

  begin(value);
  while (open.length > 0 && characters <= charactersMax) {
    if (++values % VALUES_PER_STEP === 0) {
      parts.push(tokens.join(""));
      tokens = [];
      yield;
    }
    const one = open.at(-1)!;
    if (one.at === one.count) {
      open.pop();
      write(one.names === undefined ? "]" : "}");
      continue;
    }
    if (one.at > 0) write(",");
    const place = one.names?.[one.at] ?? one.at;
    if (one.names !== undefined) write(`${JSON.stringify(place)}:`);
    one.at++;
    begin((one.value as Record<string | number, JsonValue>)[place]!);
  }
  return parts.join("") + tokens.join("");
}
