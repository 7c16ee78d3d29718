/** Long texts are read in slices, with the same result as reading them at once. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonValue } from "../../../src/domain/json.ts";
import { type NameCost, slowNames } from "../../../src/domain/json_text/name_cost.ts";
import type { Refusal } from "../../../src/domain/refusal.ts";
import { limits } from "../../../src/domain/limits.ts";
import { stepLong } from "../../../src/http/decode/json_long.ts";
import { type GroupRules, openLong } from "../../../src/http/decode/long_reader.ts";
import { parseJsonObject } from "../../../src/http/decode/json_text.ts";

type Read = { readonly value: JsonValue } | { readonly refusal: Refusal };

/** With groups of a few characters every container is filled slice by slice. */
function readAll(text: string, groupCharacters?: number, cost?: NameCost): Read {
  return readBlocks([text], { groupCharacters, cost });
}

function readBlocks(blocks: string[], rules: GroupRules): Read {
  const reader = openLong(blocks, "Request body", rules);
  for (;;) {
    const more = stepLong(reader);
    if (more === false) return { value: reader.root! };
    if (more !== true) return { refusal: more };
  }
}

function readAtOnce(text: string): Read {
  const outcome = parseJsonObject(text);
  return outcome.ok ? { value: outcome.value } : { refusal: outcome.refusal };
}

function messageOf(read: Read): string | undefined {
  return "refusal" in read ? (read.refusal as { message: string }).message : undefined;
}

function pathOf(read: Read): string | undefined {
  return "refusal" in read ? (read.refusal as { path?: string }).path : undefined;
}

/** Blocks of these lengths, and of the last one again and again. */
function cut(text: string, lengths: readonly number[]): string[] {
  const blocks: string[] = [];
  for (let at = 0, index = 0; at < text.length; index++) {
    const length = lengths[Math.min(index, lengths.length - 1)]!;
    blocks.push(text.slice(at, at + length));
    at += length;
  }
  return blocks;
}

const blockLengths = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 9 });
const object = fc.object({ maxDepth: 6, withNullPrototype: false, maxKeys: 6 });

Deno.test("a text in groups of any size gives the value that JSON.parse gives, keys in order", () => {
  fc.assert(
    fc.property(object, fc.integer({ min: 1, max: 40 }), fc.boolean(), (sent, group, isSpaced) => {
      const text = JSON.stringify(sent, undefined, isSpaced ? 2 : undefined);
      const read = readAll(text, group);
      assert.ok(!("refusal" in read), messageOf(read));
      assert.equal(JSON.stringify(read.value), JSON.stringify(JSON.parse(text)));
    }),
    { numRuns: 500 },
  );
});

Deno.test("a text with any change is refused in groups exactly where it is refused at once", () => {
  const piece = fc.constantFrom(...'{}[]:,"\\ 019-.eEtfn\u0001', "null", '"a":1,', '"a":', "1e999");
  const change = fc.record({ at: fc.nat(), cut: fc.nat({ max: 4 }), piece });
  fc.assert(
    fc.property(
      object,
      fc.integer({ min: 1, max: 40 }),
      change,
      (sent, group, { at, cut, piece }) => {
        const text = JSON.stringify(sent);
        const place = at % (text.length + 1);
        const changed = text.slice(0, place) + piece + text.slice(place + cut);
        if (!/^\s*\{/.test(changed)) return;
        const [once, grouped] = [readAtOnce(changed), readAll(changed, group)];
        assert.equal("refusal" in grouped, "refusal" in once, changed);
        if ("value" in once && "value" in grouped) assert.deepEqual(grouped.value, once.value);
      },
    ),
    { numRuns: 1_500 },
  );
});

/** The tokens of an object, each behind white space of any length; more of it at the end. */
const tokens = fc.tuple(object, fc.array(fc.nat({ max: 12 }), { minLength: 1 })).map(
  ([sent, lengths]) => {
    const found = JSON.stringify(sent).match(/"(?:[^"\\]|\\.)*"|[\d.eE+-]+|[a-z]+|[^]/g)!;
    const spaces = (index: number) => " \n\t\r".repeat(3).slice(0, lengths[index % lengths.length]);
    return [...found.map((token, index) => spaces(index) + token), spaces(found.length)];
  },
);
const rules = fc.record({
  groupCharacters: fc.integer({ min: 1, max: 20 }),
  spacesKept: fc.integer({ min: 1, max: 6 }),
});

Deno.test("a text in blocks of any lengths, with any white space, gives the value that JSON.parse gives", () => {
  fc.assert(
    fc.property(tokens, blockLengths, rules, (sent, lengths, rules) => {
      const text = sent.join("");
      const read = readBlocks(cut(text, lengths), rules);
      assert.ok(!("refusal" in read), `${messageOf(read)}: ${text}`);
      assert.equal(JSON.stringify(read.value), JSON.stringify(JSON.parse(text)));
    }),
    { numRuns: 1_000 },
  );
});

Deno.test("in blocks, what is malformed is named by its position in the whole text", () => {
  fc.assert(
    fc.property(tokens, fc.nat(), blockLengths, rules, (sent, index, lengths, rules) => {
      const token = 1 + index % (sent.length - 1);
      const before = sent.slice(0, token).join("") + " ";
      const text = `${before}# ${sent.slice(token).join("")}`;
      const message = messageOf(readBlocks(cut(text, lengths), rules))!;
      const position = Number(/ at position (\d+):/.exec(message)![1]);
      // Some messages name the place behind the character.
      assert.ok(
        position === before.length || position === before.length + 1,
        `${message}: ${text}`,
      );
    }),
    { numRuns: 1_500 },
  );
});

Deno.test("a text with any change is refused in blocks exactly where it is refused at once", () => {
  const piece = fc.constantFrom(...'{}[]:,"\\ 019-.eEtfn\u0001', "null", '"a":1,', '"a":', "1e999");
  const change = fc.record({ at: fc.nat(), cut: fc.nat({ max: 4 }), piece });
  fc.assert(
    fc.property(tokens, change, blockLengths, rules, (tokens, change, lengths, rules) => {
      const sent = tokens.join("");
      const place = change.at % (sent.length + 1);
      const text = sent.slice(0, place) + change.piece + sent.slice(place + change.cut);
      if (!/^\s*\{/.test(text)) return;
      const [once, inBlocks] = [readAtOnce(text), readBlocks(cut(text, lengths), rules)];
      assert.equal("refusal" in inBlocks, "refusal" in once, text);
      if ("value" in once && "value" in inBlocks) assert.deepEqual(inBlocks.value, once.value);
    }),
    { numRuns: 1_500 },
  );
});

const FAULTS = [
  '{"a":[1,2,{"b":3,"c":[4,5,6}]}',
  '{"a":[1,2,{"b":3,"c":[4,5 6]}]}',
  '{"a":[{"b":{"c":1}},{"b":1,"b":1}]}',
  '{"a":{"b":1},"x":[1,2,3],"a":1}',
  '{"data":{"list":[1,2,3,4,9007199254740993,5,6]}}',
  '{"a":[[1,2,3,4],[1,2,3,1e400]]}',
  '{"a":[1,2,3,4,5,6,7,8],}',
  '{"a":[1,2,3,4,5,6,7,]}',
  '{"a":{"b":[1,2,3,4,5]"c":1}}',
  '{"a":{"b":{"c":{"d":"unterminated',
  '{"aaaaaaaa":{"bbbbbbbb":{"cccccccc":1}}',
  '{"aaaaaaaa":{"bbbbbbbb":{"cccccccc":1}}} 1',
  '{"aaaa":[1,2,3,4,5,6],"bbbb" [1,2,3,4,5,6]}',
];

for (const text of FAULTS) {
  Deno.test(`the fault of ${text} has the same text and path in groups as at once`, () => {
    const once = readAtOnce(text);
    assert.ok("refusal" in once);
    for (const group of [1, 4, 9]) {
      const grouped = readAll(text, group);
      assert.equal(messageOf(grouped), messageOf(once), `groups of ${group}`);
      assert.equal(pathOf(grouped), pathOf(once), `groups of ${group}`);
    }
  });
}

Deno.test("what is no object is refused by its first character", () => {
  assert.equal(messageOf(readAll(" ".repeat(70_000) + "[]")), "Request body must be a JSON object");
  assert.match(messageOf(readAll(" ".repeat(70_000)))!, /^Malformed JSON at position 70000/);
});

Deno.test("64 levels of nesting are taken and 65 refused, also where they are filled in pieces", () => {
  const nested = (depth: number) => '{"a":'.repeat(depth - 1) + "{}" + "}".repeat(depth - 1);
  for (const group of [1, 10, 1_000]) {
    assert.ok("value" in readAll(nested(64), group));
    assert.match(messageOf(readAll(nested(65), group))!, /nested deeper than 64 levels/);
  }
});

Deno.test("__proto__ is an ordinary key of an object that is filled in pieces", () => {
  const read = readAll('{"a":1,"__proto__":{"x":1,"y":2},"b":{"__proto__":3,"c":4}}', 4);
  assert.ok("value" in read);
  assert.deepEqual(Object.keys(read.value as object), ["a", "__proto__", "b"]);
  assert.equal(Object.getPrototypeOf(read.value), Object.prototype);
});

Deno.test("1,500,000 values are taken, more are refused with 413 and the limit", () => {
  const list = `[${"0,".repeat(99_999)}0]`;
  const values = (count: number) => `{"a":[${`${list},`.repeat(count / 100_000 - 1)}${list}]}`;
  assert.ok("value" in readAll(values(1_400_000)));
  const read = readAll(values(1_600_000));
  assert.ok("refusal" in read && read.refusal.kind === "payload_too_large");
  assert.equal(read.refusal.limit, 1_500_000);
});

Deno.test("20,000 keys of one object are taken and one more refused with its path", () => {
  const keys = (count: number) =>
    `{"a":{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join(",")}}}`;
  assert.ok("value" in readAll(keys(20_000)));
  const read = readAll(keys(20_001));
  assert.ok("refusal" in read && read.refusal.kind === "payload_too_large");
  assert.deepEqual([read.refusal.limit, read.refusal.path], [20_000, "a"]);
});

Deno.test("100,000 items of one list are taken and one more refused with its path", () => {
  for (const item of ["0", "{}", '"a"']) {
    const items = (count: number) => `{"a":[0,[${`${item},`.repeat(count - 1)}${item}]]}`;
    assert.ok("value" in readAll(items(100_000)));
    const read = readAll(items(100_001));
    assert.ok("refusal" in read && read.refusal.kind === "payload_too_large");
    assert.deepEqual([read.refusal.limit, read.refusal.path], [100_000, "a.1"]);
  }
});

Deno.test("a string of 1 MiB is taken and a longer one refused, with and without escapes", () => {
  const limit = 1_048_576;
  for (const head of ["", "\\n"]) {
    const text = (length: number) => `{"a":"${head}${"x".repeat(length - head.length)}"}`;
    assert.ok("value" in readAll(text(limit)));
    const read = readAll(text(limit + 1));
    assert.ok("refusal" in read && read.refusal.kind === "payload_too_large");
  }
});

Deno.test("a number of 1,024 characters is taken and a longer one refused with its path", () => {
  const text = (length: number) =>
    `{"pad":"${"x".repeat(70_000)}","a":[1,0.${"1".repeat(length - 2)}]}`;
  assert.ok("value" in readAll(text(1_024)));
  for (const length of [1_025, 4_000_000]) {
    const read = readAll(text(length));
    assert.equal(messageOf(read), "Number has more than 1024 characters");
    assert.equal(pathOf(read), "a.1");
  }
});

Deno.test("a text in groups of few names gives the value that JSON.parse gives", () => {
  fc.assert(
    fc.property(object, fc.integer({ min: 1, max: 5 }), (sent, namesAtOnce) => {
      const text = JSON.stringify(sent);
      let most = 0;
      const cost: NameCost = {
        namesAtOnce,
        parse: (text, names) => {
          most = Math.max(most, names!);
          return JSON.parse(text);
        },
        beWary() {},
      };
      const read = readAll(text, undefined, cost);
      assert.ok(!("refusal" in read), messageOf(read));
      assert.equal(JSON.stringify(read.value), JSON.stringify(JSON.parse(text)));
      // What is nested is part of one group up to the next comma.
      assert.ok(most <= namesAtOnce + limits.jsonDepthMax, `${most} names at once`);
    }),
    { numRuns: 500 },
  );
});

Deno.test("names that are too slow end the reading", () => {
  const cost: NameCost = { namesAtOnce: 2, parse: () => undefined, beWary() {} };
  const read = readAll('{"a":1,"b":2,"c":3,"d":4}', undefined, cost);
  assert.equal(messageOf(read), slowNames("Request body"));
});

Deno.test("of long white space little is parsed, wherever it stands", () => {
  const spaces = " \n\t\r".repeat(100_000);
  const parts = [
    "",
    "{",
    '"a"',
    ":",
    "[",
    "1",
    ",",
    "2",
    ",",
    '"b c"',
    "]",
    ",",
    '"d"',
    ":",
    "{",
    "}",
  ];
  const text = [...parts, "}", ""].join(spaces);
  let [most, sum] = [0, 0];
  const cost: NameCost = {
    namesAtOnce: 128,
    parse: (text) => {
      [most, sum] = [Math.max(most, text.length), sum + text.length];
      return JSON.parse(text);
    },
    beWary() {},
  };
  const read = readBlocks(cut(text, [16_384, 65_536]), { cost });
  assert.deepEqual(read, { value: { a: [1, 2, "b c"], d: {} } });
  assert.ok(most < 140_000 && sum < 1_000_000, `${most} of ${sum} characters`);
  assert.ok("refusal" in readAll(`{"a":[1${spaces}2]}`), "numbers are not joined");
  assert.ok("refusal" in readAll(`{"a":1${spaces}"b":2}`), "members are not joined");
});

Deno.test("a fault beside long white space is named by the positions of what was sent", () => {
  const spaces = " ".repeat(50_000);
  const repeated = readAll(`{"a":1,${spaces}"a":2}`);
  assert.deepEqual([messageOf(repeated), pathOf(repeated)], [
    "Duplicate key in JSON object: a",
    "a",
  ]);
  const malformed = readAll(`{"a":1,${spaces}"b":tru}`);
  assert.match(messageOf(malformed)!, / at position 5001\d/);
});

Deno.test("of exact numbers beside long texts nothing is searched; a fault beside one is named by its positions", () => {
  const long = "\\n".repeat(300_000);
  const exact = readAll(
    `{"a":{"${long}":1234567890123456},"b":["${long}",1e22,-12345678901234560]}`,
  );
  assert.ok("value" in exact, messageOf(exact));
  const inexact = readAll(`{"a":{"${long}":12345678901234567891}}`);
  assert.match(
    messageOf(inexact)!,
    /^Malformed JSON, a repeated key, or a number that no double holds, between positions \d+ and \d+$/,
  );
  const short = readAll('{"a":[1,12345678901234567891]}', 5);
  assert.equal(pathOf(short), "a.1");
});

Deno.test("a group with more names than any of JSON is refused before it is parsed", () => {
  let most = 0;
  const cost: NameCost = {
    namesAtOnce: 64,
    parse: (text, names) => {
      most = Math.max(most, names!);
      return JSON.parse(text);
    },
    beWary() {},
  };
  for (const text of [`{${'"a" '.repeat(2_000)}}`, `{"a":[${'"a" : '.repeat(2_000)}]}`]) {
    const read = readAll(text, undefined, cost);
    assert.match(messageOf(read)!, /^Malformed JSON/);
  }
  assert.equal(most, 0);
  const deep = `${'{"a":["b",'.repeat(31)}1${"]}".repeat(31)}`;
  assert.ok("value" in readAll(deep, undefined, cost));
});
