/**
 * Answers that are long: their text goes out piece by piece as the client takes it, so that they
 * can be counted while they are kept for it. A client that takes nothing for a while is cut off.
 */

import { Buffer } from "node:buffer";
import { limits } from "../domain/limits.ts";
import type { Outcome } from "../domain/refusal.ts";
import { openByteRoom, type Share } from "./byte_room.ts";
import { type Deadlines, openDeadlines } from "./deadlines.ts";

/** A part of a body: text, or bytes that are ready. */
export type Part = string | Uint8Array<ArrayBuffer>;

/** Shorter answers are sent at once. */
export const LONG_ANSWER_BYTES_MIN = 64 * 1024;
const PIECE_BYTES = 64 * 1024;

const encoder = new TextEncoder();
const stalls = openDeadlines(limits.answerStallSecondsMax);
/** Shared by all listeners of the process. */
const room = openByteRoom(limits.answersBytesMax);

/** What answers hold that nobody has taken yet, in this process. */
export function answerBytesHeld(): number {
  return room.heldBytes();
}

/** Whether another answer of so many bytes could be kept for `owner` now. */
export function hasRoomForAnswer(owner: string, bytes: number): boolean {
  return room.hasRoom(owner, bytes);
}

interface LongAnswer {
  readonly bytes: number;
  share?: Share;
  /** Ends it before its time. */
  drop(): void;
}

/** Those that nobody has counted yet. */
const unclaimed = new Map<Response, LongAnswer>();

/** The answer with `parts` as its body. {@link claimAnswer} is to be called with it. */
export function longAnswer(
  parts: readonly Part[],
  status: number,
  deadlines: Deadlines = stalls,
): Response {
  const bytes = parts.reduce((sum, part) => sum + byteLength(part), 0);
  const pieces = cut(parts);
  let endStall = () => {};
  let controller: ReadableStreamDefaultController<Uint8Array>;
  const answer: LongAnswer = { bytes, drop: () => finish(true) };

  /** Fewer bytes than were announced end the connection. */
  function finish(closes: boolean): void {
    endStall();
    answer.share?.leave();
    pieces.return();
    if (closes) controller.close();
  }

  function pull(): void {
    endStall();
    const { value, done } = pieces.next();
    if (done === true) return finish(true);
    controller.enqueue(value);
    endStall = deadlines.start(() => finish(true));
  }

  const body = new ReadableStream<Uint8Array>({
    start(opened) {
      controller = opened;
      endStall = deadlines.start(() => finish(true));
    },
    pull,
    cancel: () => finish(false),
  }, { highWaterMark: 0 });
  const response = new Response(body, { status, headers: { "content-length": String(bytes) } });
  unclaimed.set(response, answer);
  return response;
}

/** Whether `response` may be kept for its client; if not, it is no more. */
export function claimAnswer(response: Response, owner: string): boolean {
  if (unclaimed.size === 0) return true;
  const answer = unclaimed.get(response);
  if (answer === undefined) return true;
  unclaimed.delete(response);
  const share = room.open(owner);
  if (!share.take(answer.bytes)) {
    answer.drop();
    return false;
  }
  answer.share = share;
  return true;
}

/** About how long a body of these is; 0 for a refusal. */
export function lengthOfParts(body: Outcome<readonly Part[]>): number {
  return body.ok ? body.value.reduce((sum, { length }) => sum + length, 0) : 0;
}

function byteLength(part: Part): number {
  return typeof part === "string" ? Buffer.byteLength(part) : part.length;
}

function* cut(parts: readonly Part[]): Generator<Uint8Array, void> {
  for (const part of parts) {
    if (typeof part === "string") yield* cutText(part);
    else {
      for (let at = 0; at < part.length; at += PIECE_BYTES) {
        yield part.subarray(at, at + PIECE_BYTES);
      }
    }
  }
}

function* cutText(text: string): Generator<Uint8Array, void> {
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + PIECE_BYTES, text.length);
    // Both halves of a character that takes two belong together.
    if (end < text.length && isFirstHalf(text.charCodeAt(end - 1))) end--;
    yield encoder.encode(text.slice(at, end));
    at = end;
  }
}

function isFirstHalf(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
