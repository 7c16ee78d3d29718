/**
 * Keys that take too long to look up are refused, and in the minute after some were nothing enters
 * the runtime's table of names unseen.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonValue } from "../../../src/domain/json.ts";
import { parseJson } from "../../../src/domain/json_text/parse_json.ts";
import {
  ANY_NAMES,
  nameCostOf,
  parseStored,
  slowNames,
} from "../../../src/domain/json_text/name_cost.ts";
import { parseJsonText } from "../../../src/http/decode/json_text.ts";
import { collidingLiterals, IS_KNOWN_BUILD, objectOf } from "../../support/colliding_names.ts";

interface Costs {
  /** Each parse takes the next of these times, the last one again and again, or what is said. */
  readonly parseMs: number[] | ((text: string) => number);
  /** What looking up this key takes. */
  readonly lookUpMs?: (key: string) => number;
}

/** What was done with the runtime's table while time passed. */
interface Watched {
  nowMs: number;
  readonly monotonicMs: () => number;
  readonly parsed: string[];
  readonly lookedUp: string[];
}

function watched<T>({ parseMs, lookUpMs = () => 0 }: Costs, body: (clock: Watched) => T): T {
  const clock: Watched = { nowMs: 0, monotonicMs: () => clock.nowMs, parsed: [], lookedUp: [] };
  const { parse } = JSON;
  const { hasOwn } = Object;
  const left = typeof parseMs === "function" ? [] : [...parseMs];
  const nextMs = () => left.length > 1 ? left.shift()! : left[0]!;
  JSON.parse = (text: string) => {
    clock.nowMs += typeof parseMs === "function" ? parseMs(text) : nextMs();
    clock.parsed.push(text);
    return parse(text);
  };
  Object.hasOwn = (object, key) => {
    clock.nowMs += lookUpMs(String(key));
    clock.lookedUp.push(String(key));
    return hasOwn(object, key);
  };
  try {
    return body(clock);
  } finally {
    JSON.parse = parse;
    Object.hasOwn = hasOwn;
  }
}

function parsedIn(parseMs: number[], text: string, keys: number) {
  return watched({ parseMs }, (clock) => nameCostOf(clock).parse(text, keys));
}

const KEYED = '{"a":1,"b":{"c":2}}';
const SLOW_KEY = { parseMs: [5], lookUpMs: (key: string) => key.startsWith("slow") ? 5 : 0 };

/** The body runs in the minute after a slow key was refused. */
function wary<T>(body: (parse: (text: string) => JsonValue | undefined, clock: Watched) => T): T {
  return watched({ ...SLOW_KEY, parseMs: [5, 5, 5, 5, 5, 5, 5, 0] }, (clock) => {
    const cost = nameCostOf(clock);
    assert.equal(cost.parse('{"slow":1}', 1), undefined);
    clock.parsed.splice(0);
    clock.lookedUp.splice(0);
    return body((text) => cost.parse(text), clock);
  });
}

Deno.test("a text that is parsed in the time of its names gives its value", () => {
  assert.deepEqual(parsedIn([0.01], KEYED, 3), { a: 1, b: { c: 2 } });
  assert.throws(() => parsedIn([0.01], '{"a":', 1), SyntaxError);
});

Deno.test("a text that was slow for a while, because the machine had other work, gives its value", () => {
  assert.deepEqual(parsedIn([50, 0.01], KEYED, 3), { a: 1, b: { c: 2 } });
  assert.deepEqual(parsedIn([50, 50, 50, 50, 0.01], KEYED, 3), { a: 1, b: { c: 2 } });
});

Deno.test("many values that take their time are no sign of colliding names", () => {
  const wide = `{"list":[${Array(1_000).fill("{}").join()}],"short":"65536"}`;
  watched({ parseMs: (text) => text === wide ? 5 : 0 }, (clock) => {
    assert.deepEqual(nameCostOf(clock).parse(wide, 3), JSON.parse(wide));
  });
  watched({ parseMs: (text) => text.includes('"65536"') ? 5 : 0 }, (clock) => {
    assert.equal(nameCostOf(clock).parse(wide, 3), undefined);
  });
});

Deno.test("a text whose keys are slow each time is refused", () => {
  watched(SLOW_KEY, (clock) => {
    assert.equal(nameCostOf(clock).parse('{"a":1,"slow":2}', 2), undefined);
  });
});

Deno.test("in the minute after a slow key, the keys of a text are looked up before it is parsed", () => {
  wary((parse, clock) => {
    assert.equal(parse('{"a":{"slow one":1},"b":2}'), undefined);
    assert.deepEqual(clock.parsed, []);
    assert.deepEqual(parse(KEYED), { a: 1, b: { c: 2 } });
    assert.deepEqual(clock.parsed, [KEYED]);
    clock.nowMs += 61_000;
    clock.lookedUp.splice(0);
    parse(KEYED);
    assert.deepEqual(clock.lookedUp, []);
  });
});

Deno.test("a text of many keys, one of them slow, is refused wherever that key is", () => {
  wary((parse) => {
    const keys = Array.from({ length: 1_000 }, (_, index) => `"key ${index}"`);
    assert.ok(parse(objectOf(keys)) !== undefined);
    for (const place of [0, 63, 64, 999]) {
      assert.equal(parse(objectOf(keys.with(place, '"slow"'))), undefined);
    }
  });
});

Deno.test("in the minute after slow names, no short text is kept by the runtime", () => {
  watched({ parseMs: [5, 5, 5, 5, 5, 5, 5, 0] }, (clock) => {
    const cost = nameCostOf(clock);
    assert.equal(cost.parse('["65536"]', 1), undefined);
    assert.deepEqual(cost.parse('["131072"]', 1), ["131072"]);
    assert.equal(clock.parsed.at(-1), String.raw`["\u003131072"]`);
    assert.deepEqual(parseStored('{"a":"b"}'), { a: "b" });
    assert.equal(clock.parsed.at(-1), String.raw`{"a":"\u0062"}`);
    clock.nowMs += 61_000;
    assert.deepEqual(cost.parse('["196608"]', 1), ["196608"]);
    assert.equal(clock.parsed.at(-1), '["196608"]');
    parseStored('{"a":"b"}');
    assert.equal(clock.parsed.at(-1), '{"a":"b"}');
  });
});

Deno.test("in that minute, short texts that are slow to find are refused, and numbers of one bucket", () => {
  wary((parse) => {
    const list = (make: (index: number) => number | string) =>
      JSON.stringify(Array.from({ length: 40 }, (_, index) => `${make(index)}`));
    assert.equal(parse('["a","slow"]'), undefined);
    assert.equal(parse(list((index) => index * 65_536)), undefined);
    assert.equal(parse(list((index) => 5 + index * 32_768)), undefined);
    for (
      const fair of [
        list((i) => i),
        list(() => 7),
        list((i) => 2 ** (i % 34)),
        list((i) => i * 86_400),
      ]
    ) {
      assert.deepEqual(parse(fair), JSON.parse(fair));
    }
  });
});

Deno.test("whoever meets something slow may ask for care", () => {
  watched({ parseMs: [0] }, (clock) => {
    const cost = nameCostOf(clock);
    cost.parse('["a"]');
    assert.equal(clock.parsed.at(-1), '["a"]');
    cost.beWary();
    cost.parse('["a"]');
    assert.equal(clock.parsed.at(-1), String.raw`["\u0061"]`);
  });
});

const character = fc.oneof(
  fc.constantFrom('"', "\\", "/", ":", ",", "]", "}", "\n", "\u0001", "é", "\u2028"),
  fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
);
const string = fc.string({ unit: character, maxLength: 14 });
const value = fc.letrec((tie) => ({
  any: fc.oneof(string, fc.integer(), fc.boolean(), fc.constant(null), tie("array"), tie("object")),
  array: fc.array(tie("any"), { maxLength: 4 }),
  object: fc.dictionary(string, tie("any"), { maxKeys: 4 }),
}));

Deno.test("with care, any text gives the value that it has; all its keys are looked up, and no short text is kept", () => {
  fc.assert(
    fc.property(value.object as fc.Arbitrary<JsonValue>, fc.boolean(), (sent, isSpaced) => {
      const text = JSON.stringify(sent, undefined, isSpaced ? 1 : undefined);
      wary((parse, clock) => {
        // Not as JSON.parse reads it: that confuses keys with escapes (parse_json.ts).
        assert.deepEqual(parse(text), parseJson(text));
        const keys = new Set(clock.lookedUp);
        for (const key of keysOf(sent)) assert.ok(keys.has(key), JSON.stringify(key));
        for (const [literal, , behind] of clock.parsed.at(-2)!.matchAll(TEXT)) {
          if (behind === ":" || literal.length === 2 || literal.length > 12) continue;
          assert.match(literal, /\\/, "a text with an escape is not kept");
        }
      });
    }),
    { numRuns: 1_000 },
  );
});

/** A string, and what stands behind it. */
const TEXT = /"([^"\\]|\\.)*"(?=\s*(.))/gs;

function keysOf(value: JsonValue): string[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(keysOf);
  return Object.entries(value).flatMap(([key, inner]) => [key, ...keysOf(inner)]);
}

Deno.test("with care, what is malformed remains so", () => {
  wary((parse) => {
    const malformed = [
      "",
      '{"a":',
      '{"a":"\n"}',
      '["\u0000"]',
      '["\\x"]',
      '["a" "b"]',
      '{"a" "b"}',
      '["ab',
      '"',
      '{"\\":1}',
      '{"\\u00":1}',
    ];
    for (const text of malformed) assert.throws(() => parse(text), SyntaxError, text);
  });
});

Deno.test("malformed text that is slow is not parsed again, but the next texts are read with care", () => {
  watched(SLOW_KEY, (clock) => {
    const cost = nameCostOf(clock);
    assert.throws(() => cost.parse('{"slow":1,"a":', 2), SyntaxError);
    assert.deepEqual(clock.parsed.length, 1);
    assert.equal(cost.parse('{"slow":1}', 1), undefined);
    assert.deepEqual(clock.parsed.length, 1);
  });
});

Deno.test("a text without names may take any time, and a longer one may take longer", () => {
  assert.deepEqual(parsedIn([1_000], "[1]", 0), [1]);
  watched({ parseMs: [40] }, (clock) => {
    const long = JSON.stringify({ a: "x".repeat(1_000_000) });
    assert.notEqual(nameCostOf(clock).parse(long, 1), undefined);
    assert.equal(clock.parsed.length, 1);
  });
});

Deno.test("all who share a clock share what is known of slow names; no others do", () => {
  const clock = { monotonicMs: () => 0 };
  assert.equal(nameCostOf(clock), nameCostOf(clock));
  assert.notEqual(nameCostOf(clock), nameCostOf({ monotonicMs: () => 0 }));
  assert.equal(ANY_NAMES.namesAtOnce, Infinity);
  assert.deepEqual(ANY_NAMES.parse('{"a":1}'), { a: 1 });
});

Deno.test({
  name: "keys with one hash are refused long before they are many, however large the body is",
  ignore: !IS_KNOWN_BUILD,
  async fn() {
    const monotonicMs = performance.now.bind(performance);
    const yieldTurn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
    const turns = { monotonicMs, yieldTurn };
    let characters = 0;
    const { parse } = JSON;
    JSON.parse = (text: string) => {
      // Keys with escapes are parsed alone, too.
      if (text.startsWith("{")) characters += text.length;
      return parse(text);
    };
    try {
      for (const [from, part] of [[0, 2], [20_000, 20], [40_000, 20]] as const) {
        const text = `{"data":${objectOf(collidingLiterals(16_000, from))}}`;
        characters = 0;
        const outcome = await parseJsonText([text], { turns });
        assert.ok(!outcome.ok && outcome.refusal.kind === "bad_request");
        assert.equal(outcome.refusal.message, slowNames("Request body"));
        assert.ok(characters < text.length / part, `${characters} of ${text.length}`);
      }
    } finally {
      JSON.parse = parse;
    }
    const names = Array.from({ length: 16_000 }, (_, index) => `"ordinary-${index}"`);
    assert.ok((await parseJsonText([objectOf(names)], { turns })).ok);
  },
});

Deno.test({
  name:
    "looking up keys adds none to the runtime's table, so those with one hash do not get slower",
  ignore: !IS_KNOWN_BUILD,
  fn() {
    const count = 20_000;
    const ordinary = Array.from({ length: count }, (_, index) => `"9 and more ${index}"`);
    wary((parse) => {
      const msOf = (keys: string[]) => {
        const startedMs = performance.now();
        // Malformed from the start, so that no key is parsed.
        assert.throws(() => parse(`]${objectOf(keys)}`), SyntaxError);
        return performance.now() - startedMs;
      };
      const ordinaryMs = msOf(ordinary) + msOf(ordinary);
      const collidingMs = msOf(collidingLiterals(count, 10_000_000)) +
        msOf(collidingLiterals(count, 20_000_000));
      // If they were added, these would take a thousand times as long.
      assert.ok(collidingMs < 50 * ordinaryMs, `${collidingMs} ms, ${ordinaryMs} ms`);
    });
  },
});
