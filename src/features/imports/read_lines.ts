/**
 * Reads the lines of a file that arrives in pieces. It also maintains the place and the digest
 * after the last line taken, from which an import resumes. Memory holds one piece and one line
 * at most.
 */

import { createHash } from "node:crypto";
import { limits } from "../../domain/limits.ts";
import type { FilePlace } from "../../domain/import/progress.ts";
import { accept, type Outcome, type Refusal, refuse } from "../../domain/refusal.ts";

/** Pieces of the file as they arrive. A refusal is the last one: the rest will not come. */
export type FilePieces = AsyncIterable<Outcome<Uint8Array>>;

/** Some complete lines that have arrived. */
export interface Lines {
  readonly count: number;
  /** The text of a line; undefined if it is not valid UTF-8. */
  text(index: number): string | undefined;
  /** How many of the lines end at or before byte `end` of the file. */
  countUpTo(end: number): number;
  /**
   * Takes the first `count` lines as done and moves the place behind them. Call it once, with
   * at most the number of lines.
   */
  take(count: number): void;
}

export interface LineReader {
  /** Bytes and lines taken so far. */
  readonly bytes: number;
  readonly lines: number;
  digest(): string;
  /** The next complete lines; none at the end of the file. */
  next(): Promise<Outcome<Lines>>;
  /**
   * Skips the file up to `place`, which is known to follow `lines` lines, without parsing them.
   * Resolves to false if the content differs from what was there then.
   */
  skipTo(place: FilePlace, lines: number): Promise<Outcome<boolean>>;
}

const NEWLINE = 0x0a;
const BUFFER_BYTES = 256 * 1024;
/** Lines are handed out in batches of about this many bytes: one unit of work. */
const LINES_BYTES = 64 * 1024;

export function readLines(pieces: FilePieces): LineReader {
  const source = pieces[Symbol.asyncIterator]();
  const hash = createHash("sha256");
  const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const buffered = openBuffer();
  let isOver = false;
  let bytes = 0;
  let lines = 0;

  function advance(count: number, lineCount: number): void {
    hash.update(buffered.bytes().subarray(0, count));
    buffered.drop(count);
    bytes += count;
    lines += lineCount;
  }

  /** Reads the next piece into the buffer. */
  async function fill(): Promise<Refusal | undefined> {
    const piece = await source.next();
    if (piece.done) {
      isOver = true;
      return undefined;
    }
    if (!piece.value.ok) return piece.value.refusal;
    buffered.add(piece.value.value);
    return undefined;
  }

  async function next(): Promise<Outcome<Lines>> {
    const { importLineBytesMax } = limits;
    while (!isOver && buffered.bytes().lastIndexOf(NEWLINE) < 0) {
      if (buffered.bytes().length > importLineBytesMax) return tooLong();
      const failure = await fill();
      if (failure !== undefined) return { ok: false, refusal: failure };
    }
    const buffer = buffered.bytes();
    const ends: number[] = [];
    for (let at = 0; at < buffer.length && at < LINES_BYTES;) {
      const found = buffer.indexOf(NEWLINE, at);
      // The last line may lack its newline.
      if (found < 0 && !isOver) break;
      const end = found < 0 ? buffer.length : found + 1;
      if (end - at > importLineBytesMax) {
        if (ends.length === 0) return tooLong();
        break;
      }
      ends.push(end);
      at = end;
    }
    return accept(linesOf(ends));
  }

  function linesOf(ends: readonly number[]): Lines {
    const whole = buffered.bytes().subarray(0, ends.at(-1) ?? 0);
    const decoded = decode(whole);
    // If every byte is one character, lines are slices of one decoded string.
    const text = decoded?.length === whole.length ? decoded : undefined;
    return {
      count: ends.length,
      text(index) {
        const begin = index === 0 ? 0 : ends[index - 1]!;
        const end = ends[index]!;
        return text?.slice(begin, end) ?? decode(whole.subarray(begin, end));
      },
      countUpTo(end) {
        const beyond = ends.findIndex((each) => bytes + each > end);
        return beyond < 0 ? ends.length : beyond;
      },
      take(count) {
        if (count > 0) advance(ends[count - 1]!, count);
      },
    };
  }

  function decode(part: Uint8Array): string | undefined {
    try {
      return utf8.decode(part);
    } catch {
      return undefined;
    }
  }

  async function skipTo(place: FilePlace, lineCount: number): Promise<Outcome<boolean>> {
    while (bytes < place.bytes) {
      const { length } = buffered.bytes();
      if (length === 0) {
        if (isOver) return accept(false);
        const failure = await fill();
        if (failure !== undefined) return { ok: false, refusal: failure };
        continue;
      }
      advance(Math.min(length, place.bytes - bytes), 0);
    }
    lines = lineCount;
    return accept(digest() === place.digest);
  }

  function digest(): string {
    return hash.copy().digest("hex");
  }

  return {
    get bytes() {
      return bytes;
    },
    get lines() {
      return lines;
    },
    digest,
    next,
    skipTo,
  };
}

/** Bytes that have arrived but were not taken yet, in one reusable block of memory. */
interface ByteBuffer {
  /** Valid until the next call of `add` or `drop`. */
  bytes(): Uint8Array;
  add(piece: Uint8Array): void;
  drop(count: number): void;
}

function openBuffer(): ByteBuffer {
  let memory = new Uint8Array(BUFFER_BYTES);
  let begin = 0;
  let end = 0;
  return {
    bytes: () => memory.subarray(begin, end),
    add(piece) {
      const length = end - begin;
      if (end + piece.length > memory.length) {
        const isRoom = length + piece.length <= memory.length;
        const next = isRoom ? memory : new Uint8Array(2 * (length + piece.length));
        next.set(memory.subarray(begin, end));
        memory = next;
        [begin, end] = [0, length];
      }
      memory.set(piece, end);
      end += piece.length;
    },
    drop(count) {
      begin += count;
    },
  };
}

function tooLong() {
  const limit = limits.importLineBytesMax;
  const message = `A line exceeds ${limit} bytes`;
  return refuse({ kind: "payload_too_large", message, limit });
}
