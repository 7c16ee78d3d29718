/**
 * What a program did to the files of one folder, read from a trace of its system calls. The
 * trace comes from `strace -f -y -xx`: every write with its bytes, every truncation, name and
 * sync, and what the program printed. The order is that of the lines; a call has separate lines
 * for its begin and its end.
 */

import { Buffer } from "node:buffer";

/**
 * What happened to one file. `begin` and `end` are lines; the end of an unfinished call is
 * Infinity.
 */
export type FileChange =
  & Span
  & (
    | { readonly kind: "write"; readonly at: number; readonly bytes: Uint8Array }
    | { readonly kind: "truncate"; readonly size: number }
  );

export interface Span {
  readonly begin: number;
  end: number;
}

export interface Sync extends Span {
  isDone: boolean;
}

/** One file, under whatever name. */
export interface TracedFile {
  /** Its bytes before the trace. */
  readonly before: Uint8Array;
  readonly changes: FileChange[];
  readonly syncs: Sync[];
}

/** A name that was added or removed. `file` is undefined if it was removed. */
export interface NameChange extends Span {
  readonly name: string;
  readonly file: TracedFile | undefined;
}

export interface DiskTrace {
  readonly lines: number;
  /** The names before the trace. */
  readonly before: ReadonlyMap<string, TracedFile>;
  readonly files: readonly TracedFile[];
  readonly names: readonly NameChange[];
  readonly folderSyncs: readonly Sync[];
  /** What was written to standard output, line by line, and when that write began. */
  readonly told: readonly { readonly line: number; readonly text: string }[];
}

export const TRACED_CALLS = [
  "openat",
  "write",
  "pwrite64",
  "ftruncate",
  "fsync",
  "fdatasync",
  "unlink",
  "unlinkat",
  "lseek",
  // None of these is expected; a trace that contains one is refused.
  "writev",
  "pwritev",
  "rename",
  "renameat",
  "renameat2",
  "truncate",
  "fallocate",
  "copy_file_range",
  "sendfile",
];
const UNEXPECTED = new Set(TRACED_CALLS.slice(TRACED_CALLS.indexOf("writev")));

interface Call extends Span {
  readonly name: string;
  text: string;
}

/** The WAL's index is shared memory, which no power cut leaves; lock files hold nothing. */
const FORGOTTEN = /-shm$|\.lock$/;

/**
 * @param folder its absolute path.
 * @param before the files that were there.
 */
export function readDiskTrace(
  trace: string,
  folder: string,
  before: ReadonlyMap<string, Uint8Array>,
): DiskTrace {
  const first = new Map([...before].map(([name, bytes]) => [name, newFile(bytes)]));
  const reader = new TraceReader(folder, first);
  const calls = parseCalls(trace);
  for (const call of calls) reader.take(call);
  const { files, names, folderSyncs, told } = reader;
  return { lines: trace.split("\n").length, before: first, files, names, folderSyncs, told };
}

function newFile(before: Uint8Array): TracedFile {
  return { before, changes: [], syncs: [] };
}

/** Returns the calls in the order in which they ended, the latest moment of their effect. */
function parseCalls(trace: string): Call[] {
  const calls: Call[] = [];
  const open = new Map<string, Call>();
  for (const [line, text] of trace.split("\n").entries()) {
    const [, thread, rest] = /^(\d+)\s+(.*)$/.exec(text) ?? [];
    if (thread === undefined || rest === undefined) continue;
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    const name = /^\w+/.exec(rest)?.[0];
    const call = resumed !== null
      ? open.get(thread)
      : name !== undefined && rest.startsWith(`${name}(`)
      ? { name, text: rest.slice(name.length), begin: line, end: Infinity }
      : undefined;
    if (call === undefined) continue;
    if (resumed !== null) call.text += resumed[1];
    if (rest.endsWith("<unfinished ...>")) {
      call.text = call.text.slice(0, -"<unfinished ...>".length);
      open.set(thread, call);
      continue;
    }
    open.delete(thread);
    call.end = line;
    // A call at whose begin the program was killed has done nothing.
    if (!call.text.endsWith(" = ?")) calls.push(call);
  }
  // A call that never ended may have had its effect.
  return [...calls, ...open.values()];
}

class TraceReader {
  readonly files: TracedFile[];
  readonly names: NameChange[] = [];
  readonly folderSyncs: Sync[] = [];
  readonly told: { line: number; text: string }[] = [];
  readonly #folder: string;
  readonly #current: Map<string, TracedFile>;
  readonly #places = new Map<number, number>();

  constructor(folder: string, before: ReadonlyMap<string, TracedFile>) {
    this.#folder = folder;
    this.#current = new Map(before);
    this.files = [...before.values()];
  }

  take(call: Call): void {
    if (call.name === "openat") return this.#open(call);
    if (call.name === "unlink" || call.name === "unlinkat") return this.#unlink(call);
    const [, number, hex] = /^\((\d+)<([^>]*)>/.exec(call.text) ?? [];
    if (number === undefined || hex === undefined) return this.#refuseUnexpected(call, "");
    const descriptor = Number(number);
    const path = decodeText(hex);
    if (descriptor === 1 && call.name === "write") return this.#tell(call);
    if (path === this.#folder && call.name === "fsync") {
      this.folderSyncs.push(syncOf(call));
      return;
    }
    const name = this.#nameOf(path);
    if (name === undefined) return;
    this.#refuseUnexpected(call, path);
    const file = this.#current.get(name);
    if (file !== undefined) this.#change(call, descriptor, file);
  }

  #refuseUnexpected(call: Call, path: string): void {
    const isOurs = path !== "" || call.text.includes(encodeText(`${this.#folder}/`));
    if (UNEXPECTED.has(call.name) && isOurs) {
      throw new Error(`the trace has a call that nobody reads: ${call.name} of ${path}`);
    }
  }

  /** Returns the name in the folder, if it is one whose content counts. */
  #nameOf(path: string): string | undefined {
    const prefix = `${this.#folder}/`;
    if (!path.startsWith(prefix) || FORGOTTEN.test(path)) return undefined;
    return path.slice(prefix.length);
  }

  #open(call: Call): void {
    const [, hex, flags] = /^\([^,]*, "([^"]*)", ([A-Z_|]+)/.exec(call.text) ?? [];
    const descriptor = resultOf(call);
    if (hex === undefined || flags === undefined || descriptor < 0) return;
    const name = this.#nameOf(decodeText(hex));
    if (name === undefined) return;
    this.#places.set(descriptor, 0);
    const found = this.#current.get(name);
    const { begin, end } = call;
    if (found === undefined) {
      if (!flags.includes("O_CREAT")) throw new Error(`the trace does not tell of ${name}`);
      const file = newFile(new Uint8Array());
      this.files.push(file);
      this.#current.set(name, file);
      this.names.push({ begin, end, name, file });
    } else if (flags.includes("O_TRUNC")) {
      found.changes.push({ begin, end, kind: "truncate", size: 0 });
    }
  }

  #unlink(call: Call): void {
    const [, hex] = /^\([^"]*"([^"]*)"/.exec(call.text) ?? [];
    const name = hex === undefined ? undefined : this.#nameOf(decodeText(hex));
    if (name === undefined || resultOf(call) !== 0) return;
    this.#current.delete(name);
    this.names.push({ begin: call.begin, end: call.end, name, file: undefined });
  }

  #change(call: Call, descriptor: number, file: TracedFile): void {
    const { begin, end } = call;
    const result = resultOf(call);
    switch (call.name) {
      case "fsync":
      case "fdatasync":
        file.syncs.push(syncOf(call));
        return;
      case "ftruncate": {
        const size = Number(/>, (\d+)/.exec(call.text)?.[1]);
        if (!(result < 0)) file.changes.push({ begin, end, kind: "truncate", size });
        return;
      }
      case "lseek":
        if (result >= 0) this.#places.set(descriptor, result);
        return;
      case "pwrite64": {
        const at = Number(/", \d+, (\d+) *(?:\)|$)/.exec(call.text)?.[1]);
        if (Number.isNaN(at)) throw new Error("the trace has a write without a place");
        const bytes = dataOf(call, result);
        if (bytes !== undefined) file.changes.push({ begin, end, kind: "write", at, bytes });
        return;
      }
      case "write": {
        const bytes = dataOf(call, result);
        if (bytes === undefined) return;
        const at = this.#places.get(descriptor) ?? 0;
        this.#places.set(descriptor, at + bytes.length);
        file.changes.push({ begin, end, kind: "write", at, bytes });
      }
    }
  }

  #tell(call: Call): void {
    const text = new TextDecoder().decode(dataOf(call, resultOf(call)));
    for (const line of text.split("\n")) {
      if (line !== "") this.told.push({ line: call.begin, text: line });
    }
  }
}

function syncOf(call: Call): Sync {
  return { begin: call.begin, end: call.end, isDone: resultOf(call) === 0 };
}

/** NaN if the call never ended. */
function resultOf({ text, end }: Call): number {
  return end === Infinity ? NaN : Number(/ = (-?\d+)[^"]*$/.exec(text)?.[1] ?? NaN);
}

/** The bytes that were written: fewer than requested if the call said so, none if it failed. */
function dataOf({ text }: Call, result: number): Uint8Array | undefined {
  if (result < 0) return undefined;
  const from = text.indexOf('"') + 1;
  const hex = text.slice(from, text.indexOf('"', from)).replaceAll("\\x", "");
  const bytes = Buffer.from(hex, "hex");
  return Number.isNaN(result) ? bytes : bytes.subarray(0, result);
}

function decodeText(hex: string): string {
  return Buffer.from(hex.replaceAll("\\x", ""), "hex").toString();
}

function encodeText(text: string): string {
  return Buffer.from(text).toString("hex").replaceAll(/../g, "\\x$&");
}
