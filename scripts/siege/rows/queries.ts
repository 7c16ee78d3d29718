/** SQL over projections: texts that are slow to parse, and statements that are slow to run. */

import type { Attack, AttackGroup, HostileRequest, Json, Step } from "../attack.ts";
import {
  deployProjection,
  deploySpec,
  eventType,
  idOf,
  importEvents,
  query,
  read,
  repeat,
  specOf,
  times,
  untilReady,
  write,
  writeMany,
} from "../documents.ts";

const NEEDS = "read key";
const MiB = 1024 * 1024;

const MERGED = eventType({ merge: { target: "", value: "$.data" } });

function plainSpec(): Json {
  return specOf({ thing: { was_seen: MERGED } });
}
const PROJECTION = {
  name: "things",
  for_each: "thing",
  sources: { thing: "$key" },
  select: { n: { path: "$.thing.n", type: "integer" }, t: { path: "$.thing.t", type: "string" } },
};

/** `rows` rows, each with a number and a text. */
function* things(rows: number, textLength: number): Iterable<Step> {
  yield importEvents(
    repeat(
      rows,
      (i) => ["thing", idOf(i), "was_seen", { n: i, t: "a".repeat(textLength) }] as const,
    ),
  );
  yield deployProjection(PROJECTION);
  yield untilReady();
  yield query("select count(*) as n from things");
}

interface Statement {
  readonly name: string;
  readonly does: string;
  readonly sql: () => string;
  readonly params?: () => Json;
  readonly rows?: number;
  readonly textLength?: number;
  readonly clients?: number;
}

/** An attack by one statement, while the neighbour runs its own queries. */
function statement(row: Statement): Attack {
  const { name, does, rows = 1_000, textLength = 20, clients = 8 } = row;
  let made: HostileRequest | undefined;
  const params = row.params ?? (() => []);
  return {
    name,
    does,
    needs: NEEDS,
    watch: ["query"],
    spec: plainSpec,
    prepare: () => things(rows, textLength),
    waves: [{ request: () => made ??= query(row.sql(), params()), clients }],
  };
}

const LARGE_ONES = 80;

/** Definitions of 27 KB each, of projections with as many columns as nearly fit. */
function* largeDefinitions(): Iterable<Step> {
  yield write("thing", idOf(0), "was_seen", { n: 1 });
  for (let n = 0; n < LARGE_ONES; n++) {
    const select = Object.fromEntries(
      repeat(190, (i) => [`c${i}_${"x".repeat(40)}`, `$.thing.f${i}_${"y".repeat(85)}`]),
    );
    yield deployProjection({ ...PROJECTION, name: `things${n}`, select });
  }
  for (let n = 0; n < LARGE_ONES; n++) {
    yield { waitFor: query(`select count(*) as n from things${n}`), holds: `"rows":[{"n":1}]` };
  }
}

const IMPORTED = 20_000;

/** Streams of a type that no projection reads, in one import. */
function importNotes(turn: number, count: number): HostileRequest {
  return importEvents(
    repeat(count, (i) => ["note", idOf(turn * IMPORTED + i), "was_seen", {}] as const),
  );
}

/** A projection behind 60,000 streams that it does not show. */
function* behindNotes(): Iterable<Step> {
  yield* things(1_000, 20);
  for (let turn = 0; turn < 3; turn++) yield importNotes(turn, IMPORTED);
}

/** Ten lists in one aggregate: a row of nearly 1 MiB, which takes 20 times as much once parsed. */
function* rowOfObjects(): Iterable<Step> {
  for (let n = 0; n < 10; n++) {
    yield write("thing", idOf(1), "was_seen", { [`f${n}`]: repeat(33_000, () => ({})) });
  }
  const select = Object.fromEntries(repeat(10, (n) => [`f${n}`, `$.thing.f${n}`]));
  yield deployProjection({ ...PROJECTION, select });
  yield untilReady();
}

/** 60 streams of nine events of 60 KB each. */
function* largeStreams(): Iterable<Step> {
  const data = { t: "a".repeat(60_000) };
  for (let n = 0; n < 60; n++) yield writeMany("thing", idOf(n), times(9, "was_seen", data));
}

/** One stream of 19 MB, whose texts have many escapes. */
function* longStream(): Iterable<Step> {
  const data = { t: '"\\x'.repeat(8_000) };
  for (let n = 0; n < 40; n++) yield writeMany("thing", idOf(1), times(10, "was_seen", data));
}

const FEED = "/_feed?from=start&limit=";

const ENDLESS =
  "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) as n from c, things";

export const QUERIES: AttackGroup = {
  title: "queries",
  attacks: [
    statement({
      name: "sql of 50000 parameters",
      does: "a statement of as many question marks as its text can hold",
      sql: () => `select ${"?,".repeat(49_900)}1 as n from things`,
      params: () => repeat(49_900, () => 1),
      clients: 2,
    }),
    statement({
      name: "sql of named parameters",
      does: "12,000 names, each with a value",
      sql: () => `select ${repeat(12_000, (i) => `:p${i}`).join(",")} from things`,
      params: () => Object.fromEntries(repeat(12_000, (i) => [`p${i}`, 1])),
      clients: 2,
    }),
    statement({
      name: "sql of open brackets",
      does: ":(a repeated 33,000 times",
      sql: () => `select 1 as n from things where ${":(a".repeat(33_000)}`,
      clients: 2,
    }),
    statement({
      name: "sql of brackets in brackets",
      does: "50,000 opening brackets",
      sql: () => `select ${"(".repeat(49_000)}1${")".repeat(49_000)} as n from things`,
      clients: 2,
    }),
    statement({
      name: "sql of quotes and comments",
      does: "alternating quotes, comments and dollar signs to the end of the text",
      sql: () => `select 1 as n from things where ${"'/*'$x(--\n".repeat(9_000)}`,
      clients: 2,
    }),
    statement({
      name: "sql of names with one hash",
      does: "8,000 quoted names that share a bucket in the engine's own sets",
      sql: () =>
        `select 1 as n from things where ${repeat(8_000, (i) => `"${i * 65_536}"`).join("+")}`,
      clients: 2,
    }),
    statement({
      name: "sql of dollar names",
      does: "names with :: and brackets, of which SQLite has a form",
      sql: () => `select ${"$a::b(c)::".repeat(9_900)} from things`,
      clients: 2,
    }),
    statement({
      name: "sql of 400 selects",
      does: "a compound of as many selects as SQLite takes",
      sql: () => repeat(400, (i) => `select n + ${i} as n from things`).join(" union "),
    }),
    statement({
      name: "sql of a huge IN list",
      does: "16,000 values in one list, for each of 1,000 rows",
      sql: () =>
        `select n from things where n not in (${repeat(16_000, (i) => i + 5_000).join(",")})`,
    }),
    statement({
      name: "sql endless recursion",
      does: "a recursive table without an end",
      sql: () => ENDLESS,
    }),
    statement({
      name: "sql cross joins",
      does: "a thousand rows, joined four times with themselves",
      sql: () =>
        "select count(*) as n from things a, things b, things c, things d where a.n + b.n + c.n + d.n = 7",
    }),
    statement({
      name: "sql like with many wildcards",
      does: "%a%a%a... over texts of 8,000 letters",
      sql: () => `select count(*) as n from things where t like '${"%a".repeat(40)}%b'`,
      textLength: 8_000,
    }),
    statement({
      name: "sql glob with many stars",
      does: "*a*a*a... over texts of 8,000 letters",
      sql: () => `select count(*) as n from things where t glob '${"*a".repeat(40)}*b'`,
      textLength: 8_000,
    }),
    statement({
      name: "sql replace that grows",
      does: "replacements that make 60 letters 8 MB",
      sql: () => {
        const grow = (inner: string) => `replace(${inner},'a','aaaaaaaa')`;
        return `select length(${grow(grow(grow(grow(grow(grow("t"))))))}) as n from things`;
      },
    }),
    statement({
      name: "sql printf padding",
      does: "texts of 8 MB by the width of a format, for each row",
      sql: () => "select length(printf('%8000000d', n)) as n from things",
    }),
    statement({
      name: "sql group_concat",
      does: "all texts joined, for each pair of rows",
      sql: () =>
        "select a.n as n, length(group_concat(a.t || b.t)) as m from things a, things b group by a.n",
    }),
    statement({
      name: "sql hex of long texts",
      does: "texts of 4 MB as texts of 8 MB, for each row",
      sql: () => "select length(hex(printf('%4000000d', n))) as n from things",
    }),
    statement({
      name: "sql json functions",
      does: "a JSON text of 2 MB, taken apart for each row",
      sql: () =>
        "select (select count(*) from json_each('[' || replace(printf('%1000000d', n),' ','1,') || ']')) as n from things",
    }),
    statement({
      name: "sql cast of a parameter as blob",
      does: "a parameter of 1 MB, as a blob and as text for each of 400 rows",
      sql: () => "select hex(cast(?1 as blob)) as b from things limit 400",
      params: () => ["a".repeat(MiB)],
      clients: 3,
    }),
    statement({
      name: "sql cast in a sort",
      does: "the same parameter in what is sorted and grouped",
      sql: () =>
        "select n, length(v) as m from (select n, cast(?1 as blob) || n as v from things order by v) group by v",
      params: () => ["a".repeat(MiB)],
      clients: 3,
    }),
    statement({
      name: "sql answers of 8 MiB",
      does: "eight readers of answers that are as large as they may be",
      sql: () => "select a.n as n, a.t as t, b.t as u from things a, things b",
      textLength: 2_000,
    }),
    statement({
      name: "sql of 2000 columns",
      does: "as many columns as SQLite takes, of each row",
      sql: () => `select ${repeat(1_990, (i) => `n + ${i} as c${i}`).join(",")} from things`,
    }),
    {
      name: "sql that names a missing table",
      does: "80 connections ask for a table that is not there beside 80 large definitions",
      needs: NEEDS,
      spec: plainSpec,
      prepare: largeDefinitions,
      waves: [{ request: query("select 1 as n from missing"), clients: 80 }],
    },
    {
      name: "sql that names sixty tables",
      does: "80 connections name tables whose definitions are 1.6 MB together",
      needs: NEEDS,
      spec: plainSpec,
      prepare: largeDefinitions,
      waves: [{
        request: query(
          `select ${repeat(60, (i) => `(select count(*) from things${i}) as n${i}`).join(",")}`,
        ),
        clients: 80,
      }],
    },
    {
      name: "sql behind imports that no projection reads",
      does: "20 queries wait for a projection, behind 60,000 imported streams of another type",
      needs: "operator of one instance",
      watch: ["query"],
      spec: () => specOf({ thing: { was_seen: MERGED }, note: { was_seen: eventType() } }),
      prepare: behindNotes,
      waves: [
        { request: query("select count(*) as n from things"), clients: 20 },
        { request: read("/_projections/things/export.csv?columns=n"), clients: 4 },
        {
          request: (turn) => write("thing", idOf(turn % 900), "was_seen", { n: turn }),
          clients: 1,
          pauseMs: 50,
        },
        { request: (turn) => importNotes(3 + turn, 500), clients: 1, pauseMs: 200 },
      ],
    },
    {
      name: "sql endless in two environments",
      does: "endless statements from two environments of one instance",
      needs: "two read keys of one instance",
      watch: ["query"],
      spec: plainSpec,
      *prepare() {
        yield* things(1_000, 20);
        const spec = deploySpec(plainSpec());
        yield { ...spec, path: spec.path.replace("=test", "=staging") };
        const projection = deployProjection(PROJECTION);
        yield { ...projection, path: projection.path.replace("=test", "=staging") };
      },
      waves: [
        { request: query(ENDLESS), clients: 8 },
        { request: { ...query(ENDLESS), as: "staging" }, clients: 8 },
      ],
      seconds: 12,
    },
    {
      name: "sql answers that nobody reads",
      does: "24 connections ask for 8 MiB and read nothing",
      needs: NEEDS,
      spec: plainSpec,
      prepare: () => things(1_000, 2_000),
      waves: [{
        request: query("select a.n as n, a.t as t, b.t as u from things a, things b"),
        manner: "never_read",
        clients: 24,
      }],
    },
    {
      name: "rows of empty objects",
      does: "64 connections ask for one row of 330,000 empty objects",
      needs: NEEDS,
      spec: plainSpec,
      prepare: rowOfObjects,
      waves: [{ request: read(`/_projections/things/${idOf(1)}`), clients: 64 }],
    },
    {
      name: "feed of large streams",
      does: "pages, live answers and long polls of 60 streams with nine events of 60 KB",
      needs: NEEDS,
      spec: () => specOf({ thing: { was_seen: eventType(), was_missed: eventType() } }),
      prepare: largeStreams,
      waves: [
        { request: read(`${FEED}1000`), clients: 4 },
        {
          request: read("/_feed?live=sse&from=start"),
          manner: "hang_up",
          pauseMs: 200,
          clients: 8,
        },
        {
          request: (turn) =>
            read(`${FEED}${1 + turn % 900}&live=long-poll&wait=5&types=thing.was_missed`),
          clients: 200,
        },
      ],
    },
    {
      name: "tails of a long stream",
      does: "300 connections follow one stream of 19 MB from its start and read what comes",
      needs: NEEDS,
      spec: plainSpec,
      prepare: longStream,
      waves: [{ request: read(`/thing/${idOf(1)}/events?live=sse`), clients: 300 }],
    },
    {
      name: "tails that large events wake",
      does:
        "1,000 connections follow one stream in which seven events of 90 KB a second are written",
      needs: "write key",
      spec: plainSpec,
      prepare: () => [write("thing", idOf(1), "was_seen", {})],
      waves: [
        { request: read(`/thing/${idOf(1)}/events?live=sse&raw=true`), clients: 1_000 },
        {
          request: write("thing", idOf(1), "was_seen", { t: '"'.repeat(45_000) }),
          clients: 1,
          pauseMs: 150,
        },
      ],
      seconds: 6,
    },
    {
      name: "long polls that large events wake",
      does: "1,000 connections poll the feed, which gets three events of 40 KB a second",
      needs: "write key",
      spec: plainSpec,
      prepare: () => [write("thing", idOf(1), "was_seen", {})],
      waves: [
        ...["raw=true", "format=cloudevents"].map((form) => ({
          request: read(`/_feed?live=long-poll&from=now&${form}`),
          clients: 500,
        })),
        {
          request: write("thing", idOf(1), "was_seen", { t: '"'.repeat(20_000) }),
          clients: 1,
          pauseMs: 300,
        },
      ],
      seconds: 6,
    },
    {
      name: "feed of one type among events with escapes",
      does: "eight readers of a type that no event of 97 KB has, whose keys have escapes",
      needs: "write key",
      spec: () => specOf({ thing: { was_seen: eventType(), was_heard: eventType() } }),
      prepare: () =>
        repeat(12, (at) =>
          writeMany(
            "thing",
            idOf(at),
            repeat(6, () => ({
              type: "was_seen",
              data: Object.fromEntries(repeat(6_000, (i) => [`"${i}`, []])),
            })),
          )),
      waves: [{ request: read("/_feed?types=thing.was_heard&from=start"), clients: 8 }],
    },
    {
      name: "csv that nobody reads",
      does: "300 connections ask for an export of 20 MB and read nothing",
      needs: NEEDS,
      spec: plainSpec,
      prepare: () => things(10_000, 2_000),
      waves: [{
        request: { path: "/_projections/things/export.csv", as: "read" },
        manner: "never_read",
        clients: 300,
      }],
    },
    {
      name: "csv without a pause",
      does: "eight readers of an export of 20 MB",
      needs: NEEDS,
      spec: plainSpec,
      prepare: () => things(10_000, 2_000),
      waves: [{ request: { path: "/_projections/things/export.csv", as: "read" }, clients: 8 }],
    },
  ],
};
