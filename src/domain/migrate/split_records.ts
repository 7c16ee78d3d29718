/**
 * Cuts a file into records, however its bytes arrive: lines, values of JSON that span lines (also
 * those of one list), or rows of CSV. Memory holds one piece and one record at most. Each record
 * knows its line, counted from 1.
 */

import type { JsonObject } from "../json.ts";
import type { SourceFault } from "./source_event.ts";
import { parseJson } from "../json_text/parse_json.ts";

export type FileForm = "lines" | "values" | "csv";

/** One record: a text of JSON, or a row with its cells by their columns. */
export type RawRecord =
  | { readonly line: number; readonly text: string }
  | { readonly line: number; readonly row: JsonObject };

/** Where the file cannot be cut further, and why. */
export interface CutFault extends SourceFault {
  readonly line: number;
}

export interface Cut {
  readonly records: readonly RawRecord[];
  readonly fault?: CutFault;
}

export interface RecordSplitter {
  push(piece: Uint8Array): Cut;
  /** The end of the file: its last record may lack a line end. */
  end(): Cut;
}

const NEWLINE = 0x0a;
const NOT_UTF8 = "the line is not valid UTF-8: convert the file to UTF-8, for example with iconv";
const UTF8 = { fatal: true, ignoreBOM: true } as const;

/** The form of a file by its first bytes, of which there should be some thousand. */
export function detectForm(head: Uint8Array, isCsv: boolean): FileForm {
  if (isCsv) return "csv";
  const text = new TextDecoder().decode(head).replace(/^\uFEFF/, "").trimStart();
  if (text.startsWith("[")) return "values";
  const [first, second] = text.split("\n", 2);
  // An object that goes on in the next line; a long line may go on beyond what is here.
  if (!text.startsWith("{") || second === undefined || isJson(first!)) return "lines";
  return second.startsWith("{") && isJson(second) ? "lines" : "values";
}

function isJson(text: string): boolean {
  try {
    parseJson(text);
    return true;
  } catch {
    return false;
  }
}

export function splitRecords(form: FileForm, bytesMax: number): RecordSplitter {
  if (form === "lines") return splitLines(bytesMax);
  return form === "values" ? splitValues(bytesMax) : splitRows(bytesMax);
}

function tooLong(line: number, bytesMax: number): CutFault {
  return { line, rule: "line_too_long", message: `a record has more than ${bytesMax} bytes` };
}

function notUtf8(line: number): CutFault {
  return { line, rule: "not_utf8", message: NOT_UTF8 };
}

/** Bytes that have arrived and are not cut yet. */
function createPending() {
  let memory = new Uint8Array(0);
  let [begin, end] = [0, 0];
  return {
    /** Valid until the next call of `add`. */
    get bytes() {
      return memory.subarray(begin, end);
    },
    add(piece: Uint8Array) {
      const length = end - begin + piece.length;
      if (end + piece.length > memory.length) {
        // Twice as much, so that a long record is not copied with each of its pieces.
        const larger = length > memory.length / 2 ? new Uint8Array(2 * length) : memory;
        larger.set(memory.subarray(begin, end));
        [memory, begin, end] = [larger, 0, end - begin];
      }
      memory.set(piece, end);
      end += piece.length;
    },
    drop(count: number) {
      begin += count;
    },
  };
}

function splitLines(bytesMax: number): RecordSplitter {
  const decoder = new TextDecoder("utf-8", UTF8);
  const pending = createPending();
  let line = 0;

  function cut(end: number): Cut {
    const records: RawRecord[] = [];
    const whole = pending.bytes.subarray(0, end);
    const text = decode(decoder, whole);
    if (text === undefined) return { records, fault: notUtf8(line + findLine(decoder, whole)) };
    pending.drop(end);
    const last = text.endsWith("\n") ? text.length - 1 : text.length;
    for (let at = 0; at <= last && text !== "";) {
      const found = text.indexOf("\n", at);
      const stop = found < 0 ? text.length : found;
      line++;
      const record = text.slice(at, text[stop - 1] === "\r" ? stop - 1 : stop);
      if (record.length > bytesMax) return { records, fault: tooLong(line, bytesMax) };
      const isBlank = record === "" || (record.charCodeAt(0) <= 0x20 && record.trim() === "");
      if (!isBlank) records.push({ line, text: line === 1 ? withoutMark(record) : record });
      at = stop + 1;
      if (found < 0 || at >= text.length) break;
    }
    return { records };
  }

  return {
    push(piece) {
      pending.add(piece);
      const end = pending.bytes.lastIndexOf(NEWLINE) + 1;
      const result = end === 0 ? { records: [] } : cut(end);
      if ("fault" in result || pending.bytes.length <= bytesMax) return result;
      return { ...result, fault: tooLong(line + 1, bytesMax) };
    },
    end: () => pending.bytes.length === 0 ? { records: [] } : cut(pending.bytes.length),
  };
}

function decode(decoder: TextDecoder, bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Which line of these, counted from 1, is not UTF-8. */
function findLine(decoder: TextDecoder, bytes: Uint8Array): number {
  let number = 0;
  for (let at = 0; at < bytes.length;) {
    const found = bytes.indexOf(NEWLINE, at);
    const end = found < 0 ? bytes.length : found + 1;
    number++;
    if (decode(decoder, bytes.subarray(at, end)) === undefined) break;
    at = end;
  }
  return number;
}

function withoutMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

const MARK = [0xef, 0xbb, 0xbf];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];
const [QUOTE, BACKSLASH, COMMA, SPACE] = [0x22, 0x5c, 0x2c, 0x20];

function splitValues(bytesMax: number): RecordSplitter {
  const decoder = new TextDecoder("utf-8", UTF8);
  const pending = createPending();
  let line = 1;
  let begin = -1;
  let beganLine = 1;
  let at = 0;
  let depth = 0;
  let isInText = false;
  let isEscaped = false;
  let isInList = false;
  /** Bytes of a byte order mark that were passed. */
  let marks = 0;

  /** Whether the byte ends the record that began at `begin`; `at` is on that byte. */
  function endsRecord(byte: number): boolean {
    if (isInText) {
      if (isEscaped) isEscaped = false;
      else if (byte === BACKSLASH) isEscaped = true;
      else if (byte === QUOTE) isInText = false;
      return false;
    }
    if (byte === QUOTE) isInText = true;
    else if (byte === OPEN_BRACE || byte === OPEN_LIST) depth++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_LIST) return --depth <= 0;
    return false;
  }

  /** Takes a byte between two records. */
  function begins(byte: number): boolean {
    if (byte <= SPACE || byte === COMMA) return false;
    if (byte === MARK[marks] && !isInList && line === 1) {
      marks++;
      return false;
    }
    if (byte === OPEN_LIST && !isInList) isInList = true;
    else if (byte === CLOSE_LIST) isInList = false;
    else return true;
    return false;
  }

  function scan(): Cut {
    const records: RawRecord[] = [];
    const { bytes } = pending;
    for (; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte === NEWLINE) line++;
      if (begin < 0) {
        if (!begins(byte)) continue;
        begin = at;
        beganLine = line;
        if (byte !== OPEN_BRACE && byte !== OPEN_LIST) return { records, fault: noValue(line) };
      }
      if (!endsRecord(byte)) continue;
      const text = decode(decoder, bytes.subarray(begin, at + 1));
      if (text === undefined) return { records, fault: notUtf8(beganLine) };
      if (at + 1 - begin > bytesMax) return { records, fault: tooLong(beganLine, bytesMax) };
      records.push({ line: beganLine, text });
      begin = -1;
    }
    const done = begin < 0 ? at : begin;
    pending.drop(done);
    at -= done;
    if (begin >= 0) begin = 0;
    if (begin < 0 || at <= bytesMax) return { records };
    return { records, fault: tooLong(beganLine, bytesMax) };
  }

  return {
    push(piece) {
      pending.add(piece);
      return scan();
    },
    end() {
      if (begin < 0 && !isInList) return { records: [] };
      const fault = { line: begin < 0 ? line : beganLine, rule: "cut_off" };
      return { records: [], fault: { ...fault, message: "the file ends within a value" } };
    },
  };
}

function noValue(line: number): CutFault {
  return { line, rule: "not_json", message: "here should be an object of JSON" };
}

const SEPARATORS = [",", ";", "\t"];

/** Rows as RFC 4180 has them; the first one names the columns. */
function splitRows(bytesMax: number): RecordSplitter {
  const decoder = new TextDecoder("utf-8", UTF8);
  const pending = createPending();
  let text = "";
  let line = 1;
  let columns: readonly string[] | undefined;
  let separator = ",";

  function rowOf(
    cells: readonly (string | undefined)[],
    at: number,
  ): RawRecord | CutFault | undefined {
    if (columns === undefined) {
      columns = cells.map((cell) => cell ?? "");
      const seen = new Set<string>();
      const twice = columns.find((name) => seen.size === seen.add(name).size);
      if (twice === undefined) return undefined;
      const what = twice === "" ? "a column without a name" : `the column ${twice}`;
      const message = `the header has ${what} more than once`;
      return { line: at, rule: "header", message };
    }
    if (cells.length === 1 && cells[0] === undefined) return undefined;
    if (cells.length !== columns.length) {
      const message = `the row has ${cells.length} cells, and the header ${columns.length}`;
      return { line: at, rule: "row_cells", message };
    }
    const row = columns.flatMap((name, index) =>
      cells[index] === undefined ? [] : [[name, cells[index]] as const]
    );
    return { line: at, row: Object.fromEntries(row) };
  }

  function scan(isLast: boolean): Cut {
    const records: RawRecord[] = [];
    if (columns === undefined) separator = separatorOf(text);
    let from = 0;
    for (;;) {
      const row = cutRow(text, from, separator, isLast);
      if (row === undefined) break;
      if (row === "text_after_quotes") {
        const message = "a cell goes on behind its closing quotation mark";
        return { records, fault: { line, rule: "row_cells", message } };
      }
      const began = line;
      line += row.lines;
      const made = row.end - from > bytesMax ? tooLong(began, bytesMax) : rowOf(row.cells, began);
      from = row.end;
      if (made === undefined) continue;
      if ("rule" in made) return { records, fault: made };
      records.push(made);
    }
    text = text.slice(from);
    if (text.length > bytesMax) return { records, fault: tooLong(line, bytesMax) };
    if (!isLast || text === "") return { records };
    const message = "the file ends within quotation marks";
    return { records, fault: { line, rule: "cut_off", message } };
  }

  function take(end: number, isLast: boolean): Cut {
    const whole = pending.bytes.subarray(0, end);
    const more = decode(decoder, whole);
    if (more === undefined) {
      const before = text.split("\n").length - 1;
      return { records: [], fault: notUtf8(line + before + findLine(decoder, whole) - 1) };
    }
    pending.drop(end);
    text = text === "" && columns === undefined ? withoutMark(more) : text + more;
    return scan(isLast);
  }

  return {
    push(piece) {
      pending.add(piece);
      const end = pending.bytes.lastIndexOf(NEWLINE) + 1;
      const result = end === 0 ? { records: [] } : take(end, false);
      if ("fault" in result || pending.bytes.length <= bytesMax) return result;
      return { ...result, fault: tooLong(line, bytesMax) };
    },
    end: () => take(pending.bytes.length, true),
  };
}

function separatorOf(text: string): string {
  const [header = ""] = text.split("\n", 1);
  const counts = SEPARATORS.map((each) => header.split(each).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))]!;
}

interface CutRow {
  /** An empty cell without quotation marks is undefined. */
  readonly cells: readonly (string | undefined)[];
  readonly end: number;
  readonly lines: number;
}

/** The row that begins at `from`; undefined if its end is not there yet. */
function cutRow(
  text: string,
  from: number,
  separator: string,
  isLast: boolean,
): CutRow | "text_after_quotes" | undefined {
  if (from >= text.length) return undefined;
  const cells: (string | undefined)[] = [];
  let lines = 0;
  for (let at = from;;) {
    let cell: string | undefined;
    if (text[at] === '"') {
      const close = closingMark(text, at + 1);
      // A mark at the end of what is there may be the first of two.
      if (close < 0 || (close + 1 >= text.length && !isLast)) return undefined;
      cell = text.slice(at + 1, close).replaceAll('""', '"');
      for (const character of cell) if (character === "\n") lines++;
      at = close + 1;
    }
    const stop = nextStop(text, at, separator);
    if (stop < 0 && !isLast) return undefined;
    const end = stop < 0 ? text.length : stop;
    const plain = text.slice(at, text[end - 1] === "\r" && text[end] !== separator ? end - 1 : end);
    if (cell !== undefined && plain !== "") return "text_after_quotes";
    cells.push(cell ?? (plain || undefined));
    if (text[end] === separator) at = end + 1;
    else return { cells, end: Math.min(end + 1, text.length), lines: lines + 1 };
  }
}

function closingMark(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at;
  }
  return -1;
}

function nextStop(text: string, from: number, separator: string): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === separator || text[at] === "\n") return at;
  }
  return -1;
}
