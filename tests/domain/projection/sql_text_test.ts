/** How a statement is read before it runs; where SQLite has a verdict, it is the judge. */

import assert from "node:assert/strict";
import process from "node:process";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import fc from "fast-check";
import { limits } from "../../../src/domain/limits.ts";
import {
  limitRows,
  openSqlCursor,
  readSqlText,
  readToken,
  tokenText,
} from "../../../src/domain/projection/sql_text.ts";
import { soup, statement } from "../../support/sql_statements.ts";

const COLUMNS =
  "key TEXT PRIMARY KEY, status, total REAL, lines INT, paid INT, placed_at, tags, note";

function withOrders(test: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(":memory:");
  try {
    database.exec(`CREATE TABLE orders (${COLUMNS}) WITHOUT ROWID`);
    const insert = database.prepare("INSERT INTO orders (key, lines, total) VALUES (?, ?, ?)");
    for (let row = 0; row < 6; row++) insert.run(`k${row}`, row % 3, row / 2);
    test(database);
  } finally {
    database.close();
  }
}

/** The statement and the text that SQLite leaves over; undefined if it accepts none. */
function prepare(database: DatabaseSync, sql: string) {
  try {
    const prepared = database.prepare(sql) as StatementSync & { readonly sourceSQL: string };
    return { prepared, rest: sql.slice(prepared.sourceSQL.length) };
  } catch {
    return undefined;
  }
}

/** Removes what is no statement, by SQLite's description of its tokens. */
function withoutBlanks(text: string): string {
  let rest = text;
  for (;;) {
    const before = rest;
    rest = rest.replace(/^[\t\n\f\r ;\ufeff]+/, "");
    if (rest.startsWith("--")) rest = rest.replace(/^--[^\n]*/, "");
    if (rest.startsWith("/*") && rest.length > 2) rest = rest.replace(/^\/\*[^]*?(\*\/|$)/, "");
    if (rest === before) return rest;
  }
}

Deno.test("readSqlText() finds the verb behind blanks and comments, in any case", () => {
  const texts = {
    select: ["select 1", "  SELECT 1", "\n\t\f\r-- x\n/* y */SeLeCt(1)", "\ufeffselect 1"],
    with: ["WITH a AS (SELECT 1) SELECT 1", "/**/with"],
    insert: ["INSERT INTO orders VALUES (1)"],
    "": [
      "",
      "   ",
      "-- select 1",
      "/* select 1",
      "(select 1)",
      "; select 1",
      "'select'",
      "1",
      "\u00a0x",
    ],
  };
  for (const [verb, each] of Object.entries(texts)) {
    for (const sql of each) {
      const found = readSqlText(sql).verb;
      assert.equal(found === "\u00a0x" ? "" : found, verb, JSON.stringify(sql));
    }
  }
});

/** By SQLite's description of its tokens, `/*` at the end of a text is no comment. */
const SECOND_STATEMENTS: Readonly<Record<string, boolean>> = {
  "SELECT 1": false,
  "SELECT 1;": false,
  "SELECT 1; ;; -- x": false,
  "SELECT 1; /* x": false,
  "SELECT 1; /**/": false,
  "SELECT 1; /*/": false,
  "SELECT 1; /* ": false,
  "SELECT 1; /*": true,
  "SELECT 1; /": true,
  "SELECT 1; -": true,
  "SELECT 1; SELECT 2": true,
};

for (const [sql, hasMore] of Object.entries(SECOND_STATEMENTS)) {
  Deno.test(`readSqlText() sees ${hasMore ? "a second" : "one"} statement in ${sql}`, () => {
    assert.equal(readSqlText(sql).hasMore, hasMore);
    withOrders((database) => {
      assert.equal(withoutBlanks(prepare(database, sql)!.rest) !== "", hasMore);
    });
  });
}

Deno.test("readSqlText() sees a second statement wherever SQLite leaves one", () => {
  withOrders((database) => {
    let seen = 0;
    fc.assert(
      fc.property(soup, (sql) => {
        // SQLite ends a text at this character; such texts are refused earlier.
        if (sql.includes("\0") || readSqlText(sql).verb === "") return;
        const first = prepare(database, sql);
        if (first === undefined) return;
        seen++;
        const hasMore = withoutBlanks(first.rest) !== "";
        assert.equal(readSqlText(sql).hasMore, hasMore, JSON.stringify(sql));
      }),
      { numRuns: 3_000 },
    );
    assert.ok(seen > 50, `${seen} texts were statements`);
  });
});

Deno.test("readSqlText() finds each name that may be a table, however it is quoted", () => {
  for (
    const sql of [
      "SELECT * FROM Orders",
      'SELECT * FROM "orders"',
      "SELECT * FROM 'ORDERS'",
      "SELECT * FROM `orders`",
      "SELECT * FROM [orders]",
      "SELECT*FROM/**/orders--x",
      "WITH a AS (SELECT * FROM orders) SELECT 1",
      "SELECT (SELECT 1 FROM main.orders)",
      "SELECT 1 WHERE 1 IN orders",
      "SELECT * FROM\u0009\u000c\n\rorders",
    ]
  ) {
    assert.ok(readSqlText(sql).names.has("orders"), sql);
  }
  assert.ok(readSqlText('SELECT * FROM "it""s"').names.has('it"s'));
  assert.ok(readSqlText("SELECT * FROM 'it''s'").names.has("it's"));
  assert.ok(!readSqlText("SELECT 1 -- orders").names.has("orders"));
  assert.ok(!readSqlText("SELECT 1 /* orders */").names.has("orders"));
});

Deno.test("readSqlText() names parameters, not what looks like one in a text or comment", () => {
  const sql = "SELECT ?, ?2, :a, @b, $c::d(x), :a, '?', \":x\", [?], x'00' -- ?\n/* :y */";
  assert.deepEqual(readSqlText(sql).parameters, ["?", "?2", ":a", "@b", "$c::d(x)"]);
});

const { sqlTextCharactersMax: LONGEST } = limits;
/**
 * Processor time, which does not grow when other tests have the processor: far more than reading
 * the longest text takes (some milliseconds), and less than a scan that begins again at each
 * token takes (4 to 7 seconds).
 */
const READING_CPU_MS_MAX = 1_000;

const REPEATED = [
  ":(a",
  ":a(",
  ":",
  "::",
  "@::",
  "$a::",
  "$x::y(",
  "'",
  "''",
  "'\"`[",
  "/*",
  "*/",
  "-",
  "--\n",
  "(",
  "?",
  "?1",
  "[",
  "x'",
  "1e+",
  ";",
  "\u00e9",
  "\ud83d\ude00",
  "aA",
  "limit ",
];

for (const piece of REPEATED) {
  Deno.test(`a text of ${JSON.stringify(piece)} over and over is read in its time`, () => {
    const sql = `select ${piece.repeat(LONGEST / piece.length)}`;
    const before = process.cpuUsage();
    readSqlText(sql);
    limitRows(sql, 10);
    const { user, system } = process.cpuUsage(before);
    assert.ok((user + system) / 1_000 < READING_CPU_MS_MAX);
  });
}

Deno.test("a text with 50,000 names of parameters is read no further than the limit", () => {
  const names = Array.from({ length: 50_000 }, (_, n) => `:${n.toString(36)}`);
  const { parameters } = readSqlText(`select ${names.join(",")}`);
  assert.deepEqual(parameters, names.slice(0, limits.sqlParametersMax + 1));
});

Deno.test("limitRows() gives the first rows of the same statement, whatever LIMIT it has", () => {
  withOrders((database) => {
    let compared = 0;
    fc.assert(
      fc.property(statement, fc.integer({ min: 1, max: 4 }), ({ sql, params }, rowsMax) => {
        const whole = prepare(database, sql);
        if (whole === undefined) return;
        let rows: unknown[];
        try {
          rows = whole.prepared.all(...params);
        } catch {
          return;
        }
        compared++;
        const limited = limitRows(sql, rowsMax);
        const found = prepare(database, limited);
        assert.ok(found !== undefined, limited);
        assert.deepEqual(found.prepared.all(...params), rows.slice(0, rowsMax), limited);
      }),
      { numRuns: 2_000 },
    );
    assert.ok(compared > 1_000);
  });
});

Deno.test("limitRows() leaves out what stands behind the statement", () => {
  const limited = "SELECT 1\nLIMIT 3";
  for (const rest of ["", ";", " ; ; ", " -- x", " /* x", "\n--\n;/* x */"]) {
    assert.equal(limitRows(`SELECT 1${rest}`, 3), limited);
  }
});

/** Tokens are cut by SQLite's own description of them; statements are tested against SQLite. */
function tokensOf(sql: string): [kind: string, text: string][] {
  const tokens: [string, string][] = [];
  for (const cursor = openSqlCursor(sql); readToken(cursor);) {
    tokens.push([cursor.kind, tokenText(cursor)]);
  }
  return tokens;
}

/** By https://sqlite.org/lang_expr.html and the tokenizer of SQLite 3. */
const ONE_TOKEN: Readonly<Record<string, readonly string[]>> = {
  word: ["a", "_a1", "a$b", "\u00e9t\u00e9", "x", "X1"],
  quoted: ["'a'", "'it''s'", '"a b"', '"a""b"', "`a``b`", "[a b]", "'", "'a", "[a", "''''"],
  parameter: ["?", "?12", ":a", "@a", "$a", "#a", ":1", "$a::b", "$a::b(c)", ":a(b)", ":a(b"],
  end: [";"],
  other: ["x'00'", "X'", "1", "1.5e+3", "1e-", "0x1F", "(", ",", "-", "/", ":", ":::", "*"],
};

for (const [kind, texts] of Object.entries(ONE_TOKEN)) {
  Deno.test(`each of these is one token of the kind ${kind}: ${texts.join(" ")}`, () => {
    for (const text of texts) assert.deepEqual(tokensOf(text), [[kind, text]], text);
  });
}

Deno.test("blanks and comments stand between tokens and are none", () => {
  const sql = "a\t\n\f\r \ufeffb--c\nd/* e */f/**/g -- h";
  assert.deepEqual(tokensOf(sql).map(([, text]) => text), ["a", "b", "d", "f", "g"]);
  for (const blank of ["", " ", "--", "-- a", "/* a", "/*/", "/**"]) {
    assert.deepEqual(tokensOf(blank), [], blank);
  }
  // Nothing follows what would otherwise open a comment.
  assert.deepEqual(tokensOf("/*").map(([, text]) => text), ["/", "*"]);
});

Deno.test("a sign is a part of a number in its exponent alone, and of no other token", () => {
  assert.deepEqual(tokensOf("1+2e-3-x").map(([, text]) => text), ["1", "+", "2e-3", "-", "x"]);
});

Deno.test("tokens never overlap, and what is between them is blank", () => {
  const piece = fc.constantFrom(..."'\"`[]:@$#?()-*/;,.+ \n\ta1eXx\u00e9\ufeff");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const sql = pieces.join("");
      let end = 0;
      for (const cursor = openSqlCursor(sql); readToken(cursor); end = cursor.end) {
        assert.ok(cursor.start >= end && cursor.end > cursor.start, JSON.stringify(sql));
        assert.equal(isBlank(sql.slice(end, cursor.start)), true, JSON.stringify(sql));
      }
      assert.equal(isBlank(sql.slice(end)), true, JSON.stringify(sql));
    }),
    { numRuns: 5_000 },
  );
});

function isBlank(text: string): boolean {
  return text.replace(/--[^\n]*|\/\*[^]*?(\*\/|$)|[\t\n\f\r \ufeff]/g, "") === "";
}
