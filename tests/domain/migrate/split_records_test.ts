/** Files cut into records, in every form and however their bytes arrive. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type CutFault,
  detectForm,
  type FileForm,
  type RawRecord,
  splitRecords,
} from "../../../src/domain/migrate/split_records.ts";

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Cuts the file, arrived in pieces that end at these places. */
function cut(form: FileForm, file: Uint8Array, places: readonly number[] = [], bytesMax = 1_000) {
  const splitter = splitRecords(form, bytesMax);
  const records: RawRecord[] = [];
  let fault: CutFault | undefined;
  const ends = [...places].sort((a, b) => a - b).concat(file.length);
  for (const [at, end] of ends.entries()) {
    const piece = splitter.push(file.subarray(at === 0 ? 0 : ends[at - 1], end));
    records.push(...piece.records);
    if ((fault = piece.fault) !== undefined) return { records, fault };
  }
  const last = splitter.end();
  return { records: [...records, ...last.records], fault: last.fault };
}

Deno.test("detectForm() tells lines, values and CSV by the first bytes", () => {
  const forms: readonly [string, FileForm][] = [
    ['{"a":1}\n{"a":2}\n', "lines"],
    ['{"a":1}', "lines"],
    ['\uFEFF{"a":1}\n', "lines"],
    ['[{"a":1}]', "values"],
    ['{\n  "a": 1\n}', "values"],
    ['{ "a": 1,\n  "b": 2 }', "values"],
    ['{"a":"a long line that does not end here', "lines"],
    ["no JSON\n", "lines"],
    ['{"a":1,\n{"a":2}\n', "lines"],
  ];
  for (const [text, form] of forms) assert.equal(detectForm(bytes(text), false), form, text);
  assert.equal(detectForm(bytes("a,b\n"), true), "csv");
});

const FILES: readonly [
  name: string,
  form: FileForm,
  file: string,
  records: readonly RawRecord[],
][] = [
  [
    "lines with blank ones, both line ends, a byte order mark and none at the end",
    "lines",
    '\uFEFF{"a":"é"}\r\n\n   \n{"b":"✓"}\n{"c":3}',
    [
      { line: 1, text: '{"a":"é"}' },
      { line: 4, text: '{"b":"✓"}' },
      { line: 5, text: '{"c":3}' },
    ],
  ],
  [
    "a list of values that span lines, with brackets in texts",
    "values",
    '\uFEFF[\n  {"a":\n "]}\\"{[" },\n\n {"b":[{}]}]\n',
    [
      { line: 2, text: '{"a":\n "]}\\"{[" }' },
      { line: 5, text: '{"b":[{}]}' },
    ],
  ],
  [
    "values one after another",
    "values",
    '{\n"a":1}{"b":2}\n{"c":"é"}',
    [
      { line: 1, text: '{\n"a":1}' },
      { line: 2, text: '{"b":2}' },
      { line: 3, text: '{"c":"é"}' },
    ],
  ],
  [
    "rows with quotation marks, empty cells and lines within cells",
    "csv",
    '\uFEFFa;"b ""1""";c\r\n1;"x;\ny";\n\n"";"é""";z',
    [
      { line: 2, row: { a: "1", 'b "1"': "x;\ny" } },
      { line: 5, row: { a: "", 'b "1"': 'é"', c: "z" } },
    ],
  ],
];

for (const [name, form, text, records] of FILES) {
  Deno.test(`splitRecords() cuts ${name}, wherever one or two pieces end`, () => {
    const file = bytes(text);
    assert.deepEqual(cut(form, file), { records, fault: undefined });
    for (let first = 0; first <= file.length; first++) {
      for (let second = first; second <= file.length; second++) {
        assert.deepEqual(cut(form, file, [first, second]), { records, fault: undefined });
      }
    }
  });
}

const FAULTS: readonly [
  name: string,
  form: FileForm,
  file: Uint8Array,
  rule: string,
  line: number,
][] = [
  ["a line that is too long", "lines", bytes(`{}\n"${"x".repeat(40)}"\n`), "line_too_long", 2],
  ["a line that never ends", "lines", bytes(`{}\n${"x".repeat(60)}`), "line_too_long", 2],
  ["a line that is not UTF-8", "lines", Uint8Array.of(0x7b, 0x7d, 0x0a, 0xff, 0x0a), "not_utf8", 2],
  [
    "a value that is too long",
    "values",
    bytes(`[{},\n{"a":"${"x".repeat(40)}"}]`),
    "line_too_long",
    2,
  ],
  ["a value that is cut off", "values", bytes('[{},\n{"a":1'), "cut_off", 2],
  ["a list that is cut off", "values", bytes("[{},\n"), "cut_off", 2],
  ["a value that is no object", "values", bytes("[\n7]"), "not_json", 2],
  ["a row with another number of cells", "csv", bytes("a,b\n1,2\n3\n"), "row_cells", 3],
  ["a header that names a column twice", "csv", bytes("a,b,a\n1,2,3\n"), "header", 1],
  ["a cell behind its quotation marks", "csv", bytes('a,b\n1,"2"3\n'), "row_cells", 2],
  ["a row that is too long", "csv", bytes(`a\n${"x".repeat(40)}\n`), "line_too_long", 2],
  ["a cell that is cut off", "csv", bytes('a\n"x\n'), "cut_off", 2],
  ["a row that is not UTF-8", "csv", Uint8Array.of(0x61, 0x0a, 0xff, 0x0a), "not_utf8", 2],
];

for (const [name, form, file, rule, line] of FAULTS) {
  Deno.test(`splitRecords() names the line and the rule of ${name}, however it arrives`, () => {
    for (let place = 0; place <= file.length; place++) {
      const { fault } = cut(form, file, [place], 32);
      assert.deepEqual([fault?.rule, fault?.line], [rule, line], `cut at ${place}`);
    }
  });
}

Deno.test("splitRecords() gives back any rows that were written as RFC 4180 says", () => {
  const cell = fc.oneof(fc.string(), fc.constantFrom('"', ",", "\n", "\r\n", 'a"b', ""));
  const table = fc.integer({ min: 2, max: 4 }).chain((width) =>
    fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1 })
  );
  fc.assert(fc.property(table, fc.nat(), (rows, seed) => {
    const header = rows[0]!.map((_, at) => `c${at}`);
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
    const file = bytes([header, ...rows].map((row) => `${row.map(quoted).join(",")}\r\n`).join(""));
    const { records, fault } = cut("csv", file, [seed % (file.length + 1)], 100_000);
    assert.equal(fault, undefined);
    const read = records.map((record) => "row" in record && header.map((name) => record.row[name]));
    assert.deepEqual(read, rows);
  }));
});
