/** CSV by RFC 4180, judged by an independent parser: Python's `csv`. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonValue } from "../../../src/domain/json.ts";
import { csvLine } from "../../../src/features/projections/export_projection.ts";

function lineOf(values: readonly JsonValue[], formulasAsText?: boolean): string {
  return csvLine(values.map((value) => JSON.stringify(value)), formulasAsText);
}

Deno.test("csvLine() quotes what it must, doubles quotes, and ends with CR LF", () => {
  const line = lineOf(["plain", "a,b", 'say "no"', "two\nlines", " edge", "", null, 1.5, true]);
  assert.equal(line, 'plain,"a,b","say ""no""","two\nlines"," edge","",,1.5,true\r\n');
  assert.equal(lineOf([{ a: ["x"] }, [1, null]]), '"{""a"":[""x""]}","[1,null]"\r\n');
});

Deno.test("csvLine() changes no text that a spreadsheet takes for a formula", () => {
  assert.equal(lineOf(["=1+1", "+x", "-2", "@a"]), "=1+1,+x,-2,@a\r\n");
});

Deno.test("csvLine() marks as text what spreadsheets take for a formula, where that is asked for", () => {
  const values = ["=1+1", "+x", "-2", "@a", " =1", "\tx", "a=1", "1-2", "", -2, null, ["=1"]];
  const line = `'=1+1,'+x,'-2,'@a,' =1,'\tx,a=1,1-2,"",-2,,"[""=1""]"\r\n`;
  assert.equal(lineOf(values, true), line);
});

/** The text that a reader gets for a value. */
function textOf(value: JsonValue): string {
  if (value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

const READER = "import csv,json,sys\n" +
  "rows=list(csv.reader(sys.stdin,strict=True))\n" +
  "print(json.dumps(rows))";

async function readByPython(text: string): Promise<string[][] | undefined> {
  let child: Deno.ChildProcess;
  try {
    const command = new Deno.Command("python3", {
      args: ["-X", "utf8", "-c", "import sys\nsys.stdin.reconfigure(newline='')\n" + READER],
      stdin: "piped",
      stdout: "piped",
    });
    child = command.spawn();
  } catch (error) {
    assert.ok(error instanceof Deno.errors.NotFound, String(error));
    console.log("Left out: python3 is not on this machine");
    return undefined;
  }
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stdout } = await child.output();
  assert.ok(success, "Python reads it as strict CSV");
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test("Python's csv reads back what csvLine() has written, whatever the values", async () => {
  const odd = fc.constantFrom<JsonValue>(
    "=SUM(A1:A9)",
    '"',
    '""',
    ",",
    "\r\n",
    "\n",
    "\r",
    " ",
    "\t",
    "",
    null,
    '=HYPERLINK("http://x","y")',
    "\ufeffbom",
    "é漢🙂",
    { a: 'x"y', b: [1, null, "c,d"] },
    -0.5,
    1e21,
    true,
  );
  const text = fc.string({ unit: "grapheme", maxLength: 20 }).map((each) => each.replace("\0", ""));
  const value = fc.oneof(
    odd,
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
  );
  const rows = fc.sample(fc.array(value, { minLength: 3, maxLength: 3 }), 2_000);
  const read = await readByPython(rows.map((row) => lineOf(row)).join(""));
  if (read === undefined) return;
  const wanted = rows.map((row) => row.map((each) => textOf(Object.is(each, -0) ? 0 : each)));
  assert.deepEqual(read, wanted);
});
