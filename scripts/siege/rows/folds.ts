/** One GET of a state that is slow to fold: every operation in its worst form. */

import type { Attack, AttackGroup, HostileRequest, Json, Step } from "../attack.ts";
import {
  collidingTexts,
  eventType,
  fields,
  idOf,
  nest,
  numbersInOneBucket,
  read,
  repeat,
  setEach,
  specOf,
  times,
  write,
  writeMany,
} from "../documents.ts";
import { limits } from "../../../src/domain/limits.ts";

const ID = idOf(1);
const NEEDS = "spec + write key, one GET";
const GET: HostileRequest = read(`/thing/${ID}`);
const AGAIN: HostileRequest = read(`/thing/${ID}?synchronous=true`);

interface Fold {
  readonly name: string;
  readonly does: string;
  /** The handler of the events that make the state grow; by default it merges all of their data. */
  readonly grow?: Json;
  /** Data of the events that make the state large, one event each. */
  readonly grown: () => Iterable<Json>;
  /** The handler of the last events, which makes the fold slow. */
  readonly handler: () => Json;
  /** Data of the last events; default: `{}`. */
  readonly data?: () => Json;
  /** How many last events there are; default: one. */
  readonly count?: number;
  readonly request?: HostileRequest;
  readonly clients?: number;
}

/** An attack by one fold: the state grows, the slow events are written, and the state is read. */
function fold(row: Fold): Attack {
  const { name, does, count = 1, request = AGAIN, clients = 2 } = row;
  const data = row.data ?? (() => ({}));
  return {
    name,
    does,
    needs: NEEDS,
    spec: () =>
      specOf({
        thing: {
          had_grown: eventType(row.grow ?? { merge: { target: "", value: "$.data" } }),
          was_judged: eventType(row.handler()),
        },
      }),
    *prepare(): Iterable<Step> {
      for (const each of row.grown()) yield write("thing", ID, "had_grown", each);
      for (let left = count; left > 0; left -= limits.batchEventsMax) {
        yield writeMany(
          "thing",
          ID,
          times(Math.min(left, limits.batchEventsMax), "was_judged", data()),
        );
      }
    },
    waves: [{ request, clients }, { request: GET, clients: 1 }],
  };
}

/** Objects with 8,000 keys each, all of them different; 8,000 keys take about 96 KB. */
function keys(events: number): Json[] {
  return repeat(events, (event) => ({
    big: undefined,
    ...Object.fromEntries(repeat(8_000, (i) => [`k${event * 8_000 + i}`, 0])),
  }));
}

const INTO_BIG = { merge: { target: "big", value: "$.data" } };
const APPEND = { append: { target: "list", value: "$.data.v" } };
/** Numbers in a list: 14,000 in one event. */
function numbers(events: number): Json[] {
  return repeat(events, (event) => ({ v: repeat(14_000, (i) => event * 14_000 + i) }));
}
/** The common part of texts of 50 KB that differ only in the last character. */
const LONG = "a".repeat(50_000);

/** Makes `list` as long as all data together. */
const FLATTEN = [
  { append: { target: "parts", value: "$.data.v" } },
  { set: { target: "list", value: "@.parts[*][*]" } },
];

const SET_2800 = setEach(2_800);

export const FOLDS: AttackGroup = {
  title: "folds",
  attacks: [
    fold({
      name: "fold by keys with one hash",
      does: "30,000 texts with one hash become keys of a map, a hundred in each event",
      grow: setEach(100),
      grown: () =>
        repeat(300, (event) => {
          return collidingTexts(100, 5_000_000 + 100 * event);
        }),
      handler: () => ({ set: { target: "a", value: 1 } }),
    }),
    fold({
      name: "fold by keys with one hash in few events",
      does: "28,000 texts with one hash become keys of a map, 2,800 in each event",
      grow: SET_2800,
      grown: () => repeat(10, (event) => collidingTexts(2_800, 7_000_000 + 2_800 * event)),
      handler: () => ({ set: { target: "a", value: 1 } }),
    }),
    fold({
      name: "fold eq of a large object",
      does: "1,500 conditions compare 320,000 keys with an object of one",
      grow: INTO_BIG,
      grown: () => keys(40),
      handler: () =>
        repeat(
          1_500,
          () => ({ if: { eq: ["@.big", { zz: 1 }] }, then: { set: { target: "a", value: 1 } } }),
        ),
    }),
    fold({
      name: "fold eq of two equal objects",
      does: "a list of 112,000 numbers is compared with itself 400 times",
      grow: FLATTEN,
      grown: () => numbers(8),
      handler: () =>
        repeat(
          400,
          () => ({ if: { ne: ["@.list", "@.list"] }, then: { set: { target: "a", value: 1 } } }),
        ),
    }),
    fold({
      name: "fold eq of long texts",
      does: "texts of 50 KB that differ in the last character, compared 1,500 times in 500 events",
      grown: () => [{ a: `${LONG}x` }, { b: `${LONG}y` }],
      handler: () =>
        repeat(
          1_500,
          () => ({ if: { eq: ["@.a", "@.b"] }, then: { set: { target: "c", value: 1 } } }),
        ),
      count: 500,
    }),
    fold({
      name: "fold gt of long texts",
      does: "the same texts, put in order",
      grown: () => [{ a: `${LONG}x` }, { b: `${LONG}y` }],
      handler: () =>
        repeat(
          1_500,
          () => ({ if: { gt: ["@.a", "@.b"] }, then: { set: { target: "c", value: 1 } } }),
        ),
      count: 500,
    }),
    fold({
      name: "fold in of numbers in one bucket",
      does: "160,000 elements looked up in 19,900 integers that a set would put into one bucket",
      grow: FLATTEN,
      grown: () => repeat(4, () => ({ v: repeat(40_000, () => 7) })),
      handler: () => ({
        filter: { target: "list", where: { in: ["$item", numbersInOneBucket(19_900, 16_384)] } },
      }),
    }),
    fold({
      name: "fold of removals from the front",
      does: "the first of 140,000 elements is removed 20,000 times",
      grow: FLATTEN,
      grown: () => numbers(10),
      handler: () => ({ remove: { target: "list[0]" } }),
      count: 20_000,
    }),
    fold({
      name: "fold of removals with where",
      does: "each of 3,000 events looks through 140,000 elements for one to remove",
      grow: FLATTEN,
      grown: () => numbers(10),
      handler: () => ({ remove: { target: "list", where: { eq: ["$item", "$.data.n"] } } }),
      data: () => ({ n: -1 }),
      count: 3_000,
    }),
    fold({
      name: "fold that uses its whole budget",
      does: "copies of a state of 8 MB until the budget of steps is spent",
      grown: () => repeat(80, (i) => ({ [`t${i}`]: "a".repeat(90_000) })),
      handler: () => [{ set: { target: "copy", value: "@" } }, { remove: { target: "copy" } }],
      count: 2_000,
    }),
    fold({
      name: "fold of copies of small values",
      does: "copies of 180,000 small objects until the budget is spent",
      grow: FLATTEN,
      grown: () => repeat(20, () => ({ v: repeat(9_000, () => ({ a: 1 })) })),
      handler: () => [{ set: { target: "copy", value: "@.list" } }, { remove: { target: "copy" } }],
      count: 2_000,
    }),
    fold({
      name: "fold of upserts into a long list",
      does: "10,000 upserts, each with a key that stands last in 100,000",
      grow: FLATTEN,
      grown: () => repeat(25, (event) => ({ v: repeat(4_000, (i) => ({ k: event * 4_000 + i })) })),
      handler: () => ({ upsert: { target: "list", key: "k", value: { k: 99_999, n: 1 } } }),
      count: 10_000,
    }),
    fold({
      name: "fold of upserts by long keys",
      does: "upserts by a key of 20 KB that differs from 1,000 others in its end",
      grow: FLATTEN,
      grown: () =>
        repeat(250, (event) => ({
          v: repeat(4, (i) => ({ k: `${"a".repeat(20_000)}${event * 4 + i}` })),
        })),
      handler: () => ({
        upsert: { target: "list", key: "k", value: { k: `${"a".repeat(20_000)}!` } },
      }),
      count: 3_000,
    }),
    fold({
      name: "fold of unique appends",
      does: "20,000 unique appends of objects to a list that grows",
      grown: () => [],
      handler: () => ({ append_unique: { target: "list", value: { a: { b: "@.n" } } } }),
      count: 20_000,
    }),
    fold({
      name: "fold of unique appends of large values",
      does: "an object of 5,000 keys is compared with 300 of the same kind, 5,000 times",
      grow: APPEND,
      grown: () => repeat(300, (i) => ({ v: { ...fields(5_000, () => 0), z: i } })),
      handler: () => ({ append_unique: { target: "list", value: "@.list[0]" } }),
      count: 5_000,
    }),
    fold({
      name: "fold of in with a long list",
      does: "1,500 conditions look for what is not among 140,000 elements, in 100 events",
      grow: FLATTEN,
      grown: () => numbers(10),
      handler: () =>
        repeat(
          1_500,
          () => ({ if: { in: [-1, "@.list"] }, then: { set: { target: "c", value: 1 } } }),
        ),
      count: 100,
    }),
    fold({
      name: "fold of map within map",
      does: "each of 2,000 elements becomes a list of all of them",
      grow: FLATTEN,
      grown: () => [{ v: repeat(2_000, (i) => i) }],
      handler: () => ({ map: { target: "list", value: { a: "@.list", b: "$item" } } }),
      count: 10,
    }),
    fold({
      name: "fold of maps over a long list",
      does: "2,000 events change each of 140,000 elements",
      grow: FLATTEN,
      grown: () => numbers(10),
      handler: () => ({ map: { target: "list", value: "$item" } }),
      count: 2_000,
    }),
    fold({
      name: "fold of updates where nothing fits",
      does: "an update whose predicate compares long texts, for each of 100 elements",
      grow: APPEND,
      grown: () => repeat(100, (i) => ({ v: { t: `${LONG}${i}` } })),
      handler: () => ({
        update_where: {
          target: "list",
          where: { eq: ["$item.t", `${LONG}!`] },
          value: { hit: true },
        },
      }),
      count: 5_000,
    }),
    fold({
      name: "fold of walks over all elements",
      does: "paths with three [*] over lists of lists, 1,000 times in one event",
      grow: FLATTEN,
      grown: () => repeat(10, () => ({ v: repeat(100, () => repeat(90, () => [1])) })),
      handler: () =>
        repeat(
          1_000,
          () => ({ if: { exists: "@.list[*][*][*]" }, then: { set: { target: "c", value: 1 } } }),
        ),
      count: 50,
    }),
    fold({
      name: "fold of a doubling merge",
      does: "each event makes the state twice as large by $merge of itself",
      grown: () => [{ a: { x: 1 } }],
      handler: () => ({ set: { target: "a", value: { l: "@.a", r: "@.a" } } }),
      count: 2_000,
    }),
    fold({
      name: "fold of doubling texts in lists",
      does: "a list that is put into itself over and over",
      grown: () => [{ list: ["a".repeat(1_000)] }],
      handler: () => [
        { set: { target: "list", value: ["@.list", "@.list"] } },
        { set: { target: "list", value: "@.list[*][*]" } },
      ],
      count: 5_000,
    }),
    fold({
      name: "fold of merges into a wide object",
      does: "merges an object of 160,000 keys into itself 2,000 times",
      grow: INTO_BIG,
      grown: () => keys(20),
      handler: () => ({ merge: { target: "big", value: "@.big" } }),
      count: 2_000,
    }),
    fold({
      name: "fold of removed keys",
      does: "takes a key out of an object of 320,000 and puts it back, 10,000 times",
      grow: INTO_BIG,
      grown: () => keys(40),
      handler: () => [{ remove: { target: "big.k7" } }, { set: { target: "big.k7", value: 0 } }],
      count: 10_000,
    }),
    fold({
      name: "fold of a chain of names",
      does: "60 lets in each other, each of which names the whole state of 4 MB",
      grown: () => repeat(45, (i) => ({ [`t${i}`]: "a".repeat(90_000) })),
      handler: () =>
        nest(28, (inner, level) => ({ let: { [`n${level}`]: "@" }, then: inner }), {
          set: { target: "c", value: 1 },
        }),
      count: 5_000,
    }),
    fold({
      name: "fold of nested conditions",
      does: "conditions in each other to the limit, over 10,000 events",
      grown: () => numbers(1),
      handler: () =>
        repeat(100, () =>
          nest(28, (inner) => ({ if: { ne: ["@.v", [1]] }, then: inner }), {
            set: { target: "c", value: 1 },
          })),
      count: 10_000,
    }),
    {
      name: "list of small slow folds",
      does: "a page of 200 states, each of one event that makes a list and takes it away",
      needs: NEEDS,
      spec: () =>
        specOf({
          thing: {
            was_judged: eventType([
              { set: { target: "t", value: "$.data.v" } },
              { map: { target: "t", value: "$item" } },
              { remove: { target: "t" } },
            ]),
          },
        }),
      *prepare(): Iterable<Step> {
        const [data] = numbers(1);
        for (let n = 0; n < 200; n++) yield write("thing", idOf(n), "was_judged", data);
      },
      waves: [{ request: read("/thing?resolve=true&limit=200&synchronous=true"), clients: 4 }],
    },
    fold({
      name: "fold of deep states",
      does: "a state of 900 levels is compared and copied 10,000 times",
      grow: { set: { target: "deep", value: { a: "@.deep" } } },
      grown: () => repeat(900, () => ({})),
      handler: () => [
        { if: { ne: ["@.deep", "@.deep"] }, then: { set: { target: "c", value: 1 } } },
        { set: { target: "copy", value: "@.deep" } },
      ],
      count: 10_000,
    }),
    fold({
      name: "fold of objects keyed 999",
      does: "a list of 300,000 objects, each of which has the number 999 as its only key",
      grow: APPEND,
      grown: () => repeat(37, () => ({ v: repeat(8_000, () => ({ 999: 0 })) })),
      handler: () => [],
    }),
    fold({
      name: "states of 30 MB",
      does: "eight readers of a state that is as large as states may be",
      grow: APPEND,
      grown: () => repeat(310, (i) => ({ v: `${i}${"a".repeat(95_000)}` })),
      handler: () => [],
      request: GET,
      clients: 8,
    }),
    fold({
      name: "states at a time",
      does: "reads of 20,000 small events as of a moment, which no cache helps",
      grown: () => [],
      handler: () => ({ append: { target: "list", value: "$.data" } }),
      count: 20_000,
      request: read(`/thing/${ID}?at=4000000000`),
      clients: 16,
    }),
    fold({
      name: "short folds of 300 readers",
      does: "300 readers fold one event of 96 KB as of a moment, some milliseconds each",
      grown: () => [{ v: repeat(32_000, () => ({})) }],
      handler: () => [],
      count: 0,
      request: read(`/thing/${ID}?at=4000000000`),
      clients: 300,
    }),
    fold({
      name: "synchronous reads of many events",
      does: "16 readers fold 100,000 events from the first",
      grown: () => [],
      handler: () => ({ increment: { target: "n" } }),
      count: 100_000,
      clients: 16,
    }),
    {
      name: "types that are never cached",
      does: "32 readers of an aggregate of 20,000 events that no cache may hold",
      needs: "spec + write key",
      spec: () =>
        specOf({ thing: { was_seen: eventType({ append: { target: "list", value: 1 } }) } }, {
          modules: { never_cache: ["thing"] },
        }),
      prepare: () =>
        repeat(2, () => writeMany("thing", ID, times(limits.batchEventsMax, "was_seen"))),
      waves: [{ request: GET, clients: 32 }],
    },
    {
      name: "lists of large states",
      does: "eight readers of 200 states of 150 KB each, in one page",
      needs: "spec + write key",
      spec: () =>
        specOf({ thing: { was_seen: eventType({ append: { target: "l", value: "$.data" } }) } }),
      *prepare() {
        for (let i = 0; i < 200; i++) {
          yield write("thing", idOf(i), "was_seen", { t: "a".repeat(95_000) });
          yield write("thing", idOf(i), "was_seen", { t: "b".repeat(50_000) });
        }
      },
      waves: [
        { request: read("/thing?resolve=true&limit=200"), clients: 4 },
        { request: read("/thing?resolve=true&limit=200&synchronous=true"), clients: 4 },
      ],
    },
  ],
};
