/**
 * Query parameters as rows: each says how the OpenAPI document shows it and how it is decoded.
 *
 * The row of a route names its parameters, and its handler gets one value for each of them. So a
 * parameter without a row can neither be sent nor be used. See docs/reference/basics.md.
 */

import { limits } from "../domain/limits.ts";
import { nameHint } from "../domain/nearest_name.ts";
import { accept, ACCEPTED, type Outcome, refuse } from "../domain/refusal.ts";
import { MILLISECONDS_FROM } from "../domain/write/metadata.ts";
import { choice, COUNT, type Schema, SECONDS } from "./openapi/schema.ts";
import { type Texts, TextSet } from "../domain/lookup/text_map.ts";

export interface Parameter<T> {
  readonly schema: Schema;
  readonly isRequired?: true;
  /** `text` is null if the parameter is absent. */
  readonly decode: (text: string | null, name: string) => Outcome<T>;
}

/** The parameters of a route by name, in the order in which they are checked. */
export type Query = Readonly<Record<string, Parameter<unknown>>>;

/** What a handler gets for the parameters of its route. */
export type Values<Q extends Query> = {
  readonly [K in keyof Q]: Q[K] extends Parameter<infer T> ? T : never;
};

const NAME_CHARACTERS_MAX = 64;

/**
 * Makes the decoder of a query. It refuses unknown names first: a misspelt or misplaced parameter
 * would change nothing, and a deploy that was meant as a dry run would take place. It refuses a
 * name that is given twice, because only one of the values could be used.
 */
export function queryDecoder<Q extends Query>(rows: Q): (query: string) => Outcome<Values<Q>> {
  const entries = Object.entries(rows);
  const known = new TextSet(Object.keys(rows));

  function decodeAll(given: URLSearchParams): Outcome<Values<Q>> {
    const values: Record<string, unknown> = {};
    for (const [name, { decode }] of entries) {
      const outcome = decode(given.get(name), name);
      if (!outcome.ok) return outcome;
      values[name] = outcome.value;
    }
    return accept(values as Values<Q>);
  }

  return (query) => {
    const given = new URLSearchParams(query);
    const seen = new TextSet();
    // Bounded: ends at the first name that is unknown or repeated.
    for (const name of given.keys()) {
      if (!known.has(name)) return refuse({ kind: "bad_request", ...whyNot(name, known) });
      if (seen.has(name)) return badQuery(name, "is given more than once");
      seen.add(name);
    }
    return decodeAll(given);
  };
}

function whyNot(name: string, known: Texts) {
  const shown = name.length > NAME_CHARACTERS_MAX
    ? `${name.slice(0, NAME_CHARACTERS_MAX)}...`
    : name;
  const all = [...known].map((one) => `'${one}'`).join(", ");
  const others = known.size === 0 ? "This call takes no query parameters" : `It takes ${all}`;
  return {
    path: shown,
    message: `Unknown query parameter '${shown}'`,
    hint: nameHint(name, known) ?? others,
  };
}

/** Refuses the query parameter `name`. */
export function badQuery(name: string, rule: string) {
  const message = `Query parameter '${name}' ${rule}`;
  return refuse({ kind: "bad_request", message, path: name });
}

/** Any text. `about`: more for its schema, here and below. */
export function text(about: Schema = {}): Parameter<string | undefined> {
  return {
    schema: { type: "string", ...about },
    decode: (text) => accept(text ?? undefined),
  };
}

/**
 * Where a list goes on. Empty counts as absent: a list that begins with its newest entries would
 * otherwise end before the first one.
 */
export function cursor(about: Schema): Parameter<string | undefined> {
  return { ...text(about), decode: (text) => accept(text || undefined) };
}

/** `true`, `1` and empty mean true; `false`, `0` and absent mean false. */
export function flag(about: Schema = {}): Parameter<boolean> {
  return {
    schema: { type: "boolean", default: false, ...about },
    decode(text, name) {
      if (text === null || text === "false" || text === "0") return accept(false);
      if (text === "true" || text === "1" || text === "") return accept(true);
      return badQuery(name, "must be true or false");
    },
  };
}

const DECIMAL = /^[0-9]+$/;

/** A whole number of at least 1. Large values are clamped later. */
export function count(about: Schema): Parameter<number | undefined> {
  return {
    schema: { type: "integer", minimum: 1, ...about },
    decode(text, name) {
      if (text === null) return ACCEPTED;
      const count = DECIMAL.test(text) ? Number(text) : 0;
      return count >= 1 ? accept(count) : badQuery(name, "must be a positive integer");
    },
  };
}

/** A whole number from `minimum` to `maximum`; others are refused. */
export function within(minimum: number, maximum: number, otherwise: number): Parameter<number> {
  return {
    schema: { type: "integer", minimum, maximum, default: otherwise },
    decode(text, name) {
      if (text === null) return accept(otherwise);
      const number = DECIMAL.test(text) ? Number(text) : NaN;
      const isWithin = number >= minimum && number <= maximum;
      return isWithin
        ? accept(number)
        : badQuery(name, `must be an integer from ${minimum} to ${maximum}`);
    },
  };
}

/** A whole number of at least 0. */
export function length(about: Schema = {}): Parameter<number | undefined> {
  return {
    schema: { ...COUNT, ...about },
    decode(text, name) {
      if (text === null) return ACCEPTED;
      const length = DECIMAL.test(text) ? Number(text) : NaN;
      if (Number.isSafeInteger(length)) return accept(length);
      return badQuery(name, "must be a non-negative integer");
    },
  };
}

/** Unix seconds. */
export function seconds(): Parameter<number | undefined> {
  return {
    schema: SECONDS,
    decode(text, name) {
      if (text === null) return ACCEPTED;
      const seconds = DECIMAL.test(text) ? Number(text) : NaN;
      if (!Number.isSafeInteger(seconds)) {
        return badQuery(name, "must be a non-negative integer (Unix seconds)");
      }
      if (seconds < MILLISECONDS_FROM) return accept(seconds);
      return badQuery(name, "is in milliseconds: it must be in Unix seconds");
    },
  };
}

/** One of `values`; `otherwise` if absent. */
export function oneOf<const T extends string, D extends NoInfer<T> | undefined = undefined>(
  values: readonly T[],
  otherwise?: D,
): Parameter<T | D> {
  const rule = `must be ${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
  return {
    schema: { ...choice(values), ...(otherwise !== undefined && { default: otherwise }) },
    decode(text, name) {
      if (text === null) return accept(otherwise as D);
      const value = values.find((each) => each === text);
      return value === undefined ? badQuery(name, rule) : accept(value);
    },
  };
}

/** For every list. */
export const PAGE_QUERY = {
  limit: count({
    default: limits.listPageDefault,
    description: `At most ${limits.listPageMax}; a larger value is lowered to that`,
  }),
  start: cursor({ description: "Exclusive cursor, as `next_start` gives it" }),
} as const;

export type PageQuery = Partial<Values<typeof PAGE_QUERY>>;

/** For what can be followed live. */
export const LIVE_QUERY = {
  live: oneOf(["no", "long-poll", "sse"], "no"),
  wait: within(1, limits.feedWaitSecondsMax, limits.feedWaitSecondsDefault),
} as const;
