/**
 * Reads the bytes of a body from the connection within fixed limits.
 *
 * The size is enforced while reading, so that a body without Content-Length cannot fill memory.
 * So are the time, and the memory that all bodies of the process hold together.
 */

import { type BriefTurns, openTurnQuota, type TurnQuota } from "../../domain/fairness/pieces.ts";
import { limits } from "../../domain/limits.ts";
import { type Outcome, refuse } from "../../domain/refusal.ts";
import { type ByteRoom, openByteRoom, type Share } from "../byte_room.ts";
import { type Deadlines, openDeadlines } from "../deadlines.ts";

/** A request with a body, and the owner of the body. */
export interface Sender {
  readonly request: Request;
  readonly host: BriefTurns;
  /** The party charged for the memory: an instance, an operator or an address. */
  owner: string;
  /** The memory held by the body; returned when the request has been answered. */
  body?: Share;
}

/** Consumes a body block by block. A block is valid only until the next one arrives. */
export interface Sink<T> {
  /** False if the sink cannot continue; `end` then returns the reason. */
  add(block: Uint8Array<ArrayBuffer>, isLast: boolean): boolean;
  end(): Outcome<T>;
}

const DECIMAL = /^[0-9]+$/;
/** A body declared no longer than this is read in one piece, which is faster. */
const BYTES_AT_ONCE_MAX = 16 * 1024;
const BLOCK_BYTES = 64 * 1024;
/**
 * Blocks of all bodies that are handed on in one turn, besides the first ones. What follows, such
 * as parsing, takes up to half a millisecond for each.
 */
const BLOCKS_PER_TURN = 16;
/** A longer body that is read in one piece counts as a block: thousands may arrive together. */
const QUICK_BYTES_MAX = 4 * 1024;
/**
 * The system takes milliseconds to close a connection with megabytes that nobody has read, and
 * many bodies may be refused at the same moment.
 */
const REFUSALS_PER_TURN = 1;

/** Shared by all listeners of the process. */
const room: ByteRoom = openByteRoom(limits.bodiesBytesMax);

function refusalTurn({ host }: Sender): Promise<void> | undefined {
  return quotasOf(host).refusals.enter();
}

interface Quotas {
  readonly blocks: TurnQuota;
  readonly refusals: TurnQuota;
}

/** One for each source of turns; a process has one. */
const quotas = new WeakMap<BriefTurns, Quotas>();

function quotasOf(turns: BriefTurns): Quotas {
  const known = quotas.get(turns);
  if (known !== undefined) return known;
  const opened = {
    blocks: openTurnQuota(BLOCKS_PER_TURN, turns.yieldBriefly),
    refusals: openTurnQuota(REFUSALS_PER_TURN, turns.yieldBriefly),
  };
  quotas.set(turns, opened);
  return opened;
}

/** The bytes that bodies hold now in this process. */
export function bodyBytesHeld(): number {
  return room.heldBytes();
}

/** Takes more bytes for the body of `sender`, until its request has been answered. */
export function holdForBody(sender: Sender, bytes: number): boolean | Promise<boolean> {
  return (sender.body ??= room.open(sender.owner)).takeSoon(bytes);
}

/** One for each duration in use; a server uses only a few. */
const deadlinesBySeconds = new Map<number, Deadlines>();

export function deadlinesOf(seconds: number): Deadlines {
  const known = deadlinesBySeconds.get(seconds);
  if (known !== undefined) return known;
  const opened = openDeadlines(seconds);
  deadlinesBySeconds.set(seconds, opened);
  return opened;
}

/**
 * A body that takes longer is late. Its request waits only for its client, so it does not count
 * as load.
 */
const LATE_SECONDS = 0.25;
const latenesses = openDeadlines(LATE_SECONDS);
/** How many bodies are late now in this process: their requests wait only for their clients. */
export const late = { count: 0 };

/**
 * Reads a body within a time limit, so that a client that stops sending cannot hold its
 * connection forever. Never rejects: 413 if it is too large, 408 if it takes too long, 503 if
 * memory is short.
 */
export function readBody<T>(
  sender: Sender,
  sink: Sink<T>,
  bytesMax: number,
  seconds: number = limits.requestBodySecondsMax,
): Promise<Outcome<T>> {
  const { request } = sender;
  const header = request.headers.get("content-length");
  const declared = header !== null && DECIMAL.test(header) ? Number(header) : undefined;
  if (declared !== undefined && declared > bytesMax) {
    return (refusalTurn(sender) ?? Promise.resolve()).then(() => tooLarge(bytesMax));
  }
  const isSmall = declared !== undefined && declared <= BYTES_AT_ONCE_MAX;
  return new Promise((resolve) => {
    const stopping: Stopping = {};
    let endDeadline: (() => void) | undefined;
    // Most bodies arrive long before they are late, so they need only one of the two timers.
    const endLateness = latenesses.start(() => {
      late.count++;
      const left = Math.max(0, seconds - LATE_SECONDS);
      endDeadline = deadlinesOf(left).start(() => settle(refuse({ kind: "body_late", seconds })));
      // A small body is not charged for its memory until it is late.
      const share = sender.body ??= room.open(sender.owner);
      if (!share.take(BYTES_AT_ONCE_MAX)) settle(noRoom());
    });
    async function settle(outcome: Outcome<T>): Promise<void> {
      endLateness();
      if (endDeadline !== undefined) late.count--;
      endDeadline?.();
      endDeadline = undefined;
      const turn = outcome.ok ? undefined : refusalTurn(sender);
      if (turn !== undefined) await turn;
      resolve(outcome);
      stopping.stop?.();
    }
    const reading = isSmall
      ? readAtOnce(sender, sink, bytesMax)
      : readBlocks(sender, sink, bytesMax, stopping);
    reading.then(settle, () => settle(ended()));
  });
}

/** Stops reading a body whose result is no longer needed. */
interface Stopping {
  stop?: () => void;
}

async function readAtOnce<T>(
  { request, host }: Sender,
  sink: Sink<T>,
  bytesMax: number,
): Promise<Outcome<T>> {
  // The server enforces a declared length and refuses a request that has chunks beside it.
  const bytes = await request.bytes();
  if (bytes.length > bytesMax) return tooLarge(bytesMax);
  const turn = bytes.length > QUICK_BYTES_MAX ? quotasOf(host).blocks.enter() : undefined;
  if (turn !== undefined) await turn;
  sink.add(bytes, true);
  return sink.end();
}

/** Reads into blocks that are reused, so the sink must copy what it keeps. */
async function readBlocks<T>(
  sender: Sender,
  sink: Sink<T>,
  bytesMax: number,
  stopping: Stopping,
): Promise<Outcome<T>> {
  const { host, request: { body } } = sender;
  if (body === null) return sink.end();
  const reader = openBody(body);
  const cancel = () => void reader.cancel().catch(() => {});
  stopping.stop = cancel;
  let block = new Uint8Array(BYTES_AT_ONCE_MAX);
  let filled = 0;
  let bytes = 0;
  for (;;) {
    const { done, length, memory } = await reader.read(block, filled);
    block = memory;
    filled += length;
    bytes += length;
    if (bytes > bytesMax) return tooLarge(bytesMax);
    if (!done && filled < block.length) continue;
    if (!sink.add(block.subarray(0, filled), done) || done) {
      if (done) stopping.stop = undefined;
      return sink.end();
    }
    // Bodies that arrive as fast as they are read would be read to their ends in one turn.
    const turn = quotasOf(host).blocks.enter();
    if (turn !== undefined) await turn;
    const taken = holdForBody(sender, BLOCK_BYTES);
    if (taken !== true && !await taken) return noRoom();
    if (block.length < BLOCK_BYTES) block = new Uint8Array(BLOCK_BYTES);
    filled = 0;
  }
}

interface Piece {
  readonly done: boolean;
  /** The number of bytes that arrived. */
  readonly length: number;
  /** Replaces the memory passed in: the runtime may return another object. */
  readonly memory: Uint8Array<ArrayBuffer>;
}

/** Reads a body into the caller's memory. */
export interface BodyReader {
  /** Reads into `memory` after its first `filled` bytes. */
  read(memory: Uint8Array<ArrayBuffer>, filled: number): Promise<Piece>;
  cancel(): Promise<void>;
}

/**
 * Reads into the caller's memory, because a chunk allocated by the runtime takes 64 KiB even
 * for one byte.
 */
export function openBody(body: ReadableStream<Uint8Array>): BodyReader {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    // The body of a request made in process cannot read into the caller's memory.
    return copyingReader(body.getReader());
  }
  return {
    async read(memory, filled) {
      const { done, value } = await reader.read(memory.subarray(filled));
      if (value === undefined) return { done: true, length: 0, memory: new Uint8Array(0) };
      return { done, length: value.length, memory: new Uint8Array(value.buffer) };
    },
    cancel: () => reader.cancel(),
  };
}

function copyingReader(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): BodyReader {
  let rest: Uint8Array = new Uint8Array(0);
  return {
    async read(memory, filled) {
      if (rest.length === 0) {
        const { done, value } = await reader.read();
        if (done) return { done, length: 0, memory };
        rest = value;
      }
      const piece = rest.subarray(0, memory.length - filled);
      memory.set(piece, filled);
      rest = rest.subarray(piece.length);
      return { done: false, length: piece.length, memory };
    },
    cancel: () => reader.cancel(),
  };
}

/**
 * Consumes a body that no handler has read. If a request is not complete when its answer is,
 * the server closes the connection and the client's next request is lost. A body that has not
 * arrived by then closes the connection all the same.
 */
export function leaveBody(request: Request): void {
  if (request.method === "GET" || request.method === "HEAD" || request.bodyUsed) return;
  const header = request.headers.get("content-length");
  const isSmall = header !== null && DECIMAL.test(header) &&
    Number(header) <= limits.openBodyBytesMax;
  // Reading a small body is cheaper than cancelling it.
  const left = isSmall ? request.bytes() : request.body?.cancel();
  left?.catch(() => {});
}

function ended() {
  const message = "Request body ended before it was complete";
  return refuse({ kind: "bad_request", message });
}

function noRoom() {
  const message = "Too many large request bodies are being read; send this one again";
  return refuse({ kind: "no_room", message });
}

function tooLarge(limit: number) {
  const message = `Request body exceeds ${limit} bytes`;
  return refuse({ kind: "payload_too_large", message, limit });
}
