/**
 * The bytes of a body as they come over the connection. Their number is enforced while reading, so
 * that a body without Content-Length cannot fill memory; so is the time, and what all bodies of the
 * process hold together.
 */

import { limits } from "../../domain/limits.ts";
import { type Outcome, refuse } from "../../domain/refusal.ts";
import { type ByteRoom, openByteRoom, type Share } from "../byte_room.ts";
import { type Deadlines, openDeadlines } from "../deadlines.ts";

/** Whose body it is, and the request that it came with. */
export interface Sender {
  readonly request: Request;
  /** Who answers for what it holds: an instance, an operator, an address. */
  owner: string;
  /** What the body holds; given back when the request has been answered. */
  body?: Share;
}

/** What a body becomes, block by block. A block is valid until the next one comes. */
export interface Sink<T> {
  /** False: it cannot go on, and `end` says why. */
  add(block: Uint8Array<ArrayBuffer>, isLast: boolean): boolean;
  end(): Outcome<T>;
}

const DECIMAL = /^[0-9]+$/;
/** A body declared no longer than this is read in one piece, which is quicker. */
const BYTES_AT_ONCE_MAX = 16 * 1024;
const BLOCK_BYTES = 64 * 1024;

/** Shared by all listeners of the process. */
const room: ByteRoom = openByteRoom(limits.bodiesBytesMax);

/** What bodies hold now, in this process. */
export function bodyBytesHeld(): number {
  return room.heldBytes();
}

/** Takes so many bytes more for the body of `sender`, until its request has been answered. */
export function holdForBody(sender: Sender, bytes: number): boolean | Promise<boolean> {
  return (sender.body ??= room.open(sender.owner)).takeSoon(bytes);
}

/** One for each length of time that is asked for; servers ask for one. */
const deadlinesBySeconds = new Map<number, Deadlines>();

export function deadlinesOf(seconds: number): Deadlines {
  const known = deadlinesBySeconds.get(seconds);
  if (known !== undefined) return known;
  const opened = openDeadlines(seconds);
  deadlinesBySeconds.set(seconds, opened);
  return opened;
}

/** After this a body is late: whoever sends it so slowly is not waited for by others. */
const LATE_SECONDS = 0.25;
const latenesses = openDeadlines(LATE_SECONDS);
let late = 0;

/** How many bodies are late now, in this process: their requests wait for clients alone. */
export function lateBodies(): number {
  return late;
}

/**
 * Whole or within its time; a client that stops sending must not hold its connection for ever.
 * Never rejects: 413 for what is too large, 408 for what takes too long, 503 for want of room.
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
  if (declared !== undefined && declared > bytesMax) return Promise.resolve(tooLarge(bytesMax));
  const isSmall = declared !== undefined && declared <= BYTES_AT_ONCE_MAX;
  return new Promise((resolve) => {
    const stopping: Stopping = { stop() {} };
    let endDeadline: (() => void) | undefined;
    // Nearly every body is here long before it is late, and so needs but one of the two.
    const endLateness = latenesses.start(() => {
      late++;
      const left = Math.max(0, seconds - LATE_SECONDS);
      endDeadline = deadlinesOf(left).start(() => settle(refuse({ kind: "body_late", seconds })));
      // Small bodies pay nothing for their memory until they keep it.
      const share = sender.body ??= room.open(sender.owner);
      if (!share.take(BYTES_AT_ONCE_MAX)) settle(noRoom());
    });
    function settle(outcome: Outcome<T>): void {
      endLateness();
      if (endDeadline !== undefined) late--;
      endDeadline?.();
      endDeadline = undefined;
      resolve(outcome);
      stopping.stop();
    }
    const reading = isSmall
      ? readAtOnce(request, sink, bytesMax)
      : readBlocks(sender, sink, bytesMax, stopping);
    reading.then(settle, () => settle(ended()));
  });
}

/** What ends the reading of a body that nobody waits for any more. */
interface Stopping {
  stop(): void;
}

async function readAtOnce<T>(
  request: Request,
  sink: Sink<T>,
  bytesMax: number,
): Promise<Outcome<T>> {
  // The server enforces a declared length, and refuses one that has chunks beside it.
  const bytes = await request.bytes();
  if (bytes.length > bytesMax) return tooLarge(bytesMax);
  sink.add(bytes, true);
  return sink.end();
}

/** In blocks that are used again and again: what the sink keeps of them is its own. */
async function readBlocks<T>(
  sender: Sender,
  sink: Sink<T>,
  bytesMax: number,
  stopping: Stopping,
): Promise<Outcome<T>> {
  const { body } = sender.request;
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
      if (done) stopping.stop = () => {};
      return sink.end();
    }
    const taken = holdForBody(sender, BLOCK_BYTES);
    if (taken !== true && !await taken) return noRoom();
    if (block.length < BLOCK_BYTES) block = new Uint8Array(BLOCK_BYTES);
    filled = 0;
  }
}

interface Piece {
  readonly done: boolean;
  /** How many bytes have come. */
  readonly length: number;
  /** What was read into, which may be another object now. */
  readonly memory: Uint8Array<ArrayBuffer>;
}

/** A body that is read into memory of the caller's. */
export interface BodyReader {
  /** Reads behind the first `filled` bytes of `memory`. */
  read(memory: Uint8Array<ArrayBuffer>, filled: number): Promise<Piece>;
  cancel(): Promise<void>;
}

/** Each piece that the runtime makes by itself takes 64 KiB, also one of a single byte. */
export function openBody(body: ReadableStream<Uint8Array>): BodyReader {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    // A request that was made by hand has a body that cannot.
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
 * Takes a body that nobody has read from the connection: the server closes one whose request is not
 * over when its answer is, and the client's next request would be lost. One that has not come by
 * then closes it all the same.
 */
export function leaveBody(request: Request): void {
  if (request.method === "GET" || request.method === "HEAD" || request.bodyUsed) return;
  const header = request.headers.get("content-length");
  const isSmall = header !== null && DECIMAL.test(header) &&
    Number(header) <= limits.openBodyBytesMax;
  // Reading a small one costs half as much as saying that it is not wanted.
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
