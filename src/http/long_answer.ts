/**
 * Sends long answers piece by piece as the client takes them.
 *
 * So their memory can be counted while they wait for the client. A client that takes nothing
 * for a while is cut off.
 */

import { Buffer } from "node:buffer";
import {
  openPieces,
  runAtOnce,
  runWithin,
  type Steps,
  type Turns,
} from "../domain/fairness/pieces.ts";
import { limits } from "../domain/limits.ts";
import type { Outcome } from "../domain/refusal.ts";
import { openByteRoom, type Share } from "./byte_room.ts";
import { type Deadlines, openDeadlines } from "./deadlines.ts";

/** A part of a body: text, or finished bytes. */
export type Part = string | Uint8Array<ArrayBuffer>;

/** Shorter answers are sent at once. */
export const LONG_ANSWER_BYTES_MIN = 64 * 1024;
const PIECE_BYTES = 64 * 1024;

const encoder = new TextEncoder();
const stalls = openDeadlines(limits.answerStallSecondsMax);
/** Shared by all listeners of the process. */
const room = openByteRoom(limits.answersBytesMax);

/** The bytes of answers in this process that clients have not taken yet. */
export function answerBytesHeld(): number {
  return room.heldBytes();
}

/** Whether another answer of this many bytes could be held for `owner` now. */
export function hasRoomForAnswer(owner: string, bytes: number): boolean {
  return room.hasRoom(owner, bytes);
}

interface LongAnswer {
  readonly bytes: number;
  share?: Share;
  /** Ends the answer early. */
  drop(): void;
}

const unclaimed = new Map<Response, LongAnswer>();
/** Answers whose memory has not been counted yet. */
export const unclaimedAnswers: { has(response: Response): boolean } = unclaimed;

/** An answer with `parts` as its body. The caller must pass it to {@link claimAnswer}. */
export function longAnswer(
  parts: readonly Part[],
  status: number,
  deadlines: Deadlines = stalls,
): Response {
  const bytes = parts.reduce((sum, part) => sum + byteLength(part), 0);
  const pieces = cutParts(parts);
  let endStall = () => {};
  let controller: ReadableStreamDefaultController<Uint8Array>;
  const answer: LongAnswer = { bytes, drop: () => finish(true) };

  /** Ends the answer. If fewer bytes were sent than announced, the connection closes. */
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

/** Whether `response` may be held for its client. If not, it is dropped. */
export function claimAnswer(response: Response, owner: string): boolean {
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

/** Bytes that are made while they are sent. */
export interface ByteSource {
  next(): Promise<IteratorResult<Uint8Array<ArrayBuffer>, void>>;
  /** Ends the making, once what is being made is made. */
  return(): Promise<unknown>;
}

/**
 * A body of unknown length, made as the client takes it. A client that takes nothing for a while
 * is cut off. `onEnd` is called once, when nothing is made any more, with how it ended.
 */
export function streamAsTaken(
  source: ByteSource,
  onEnd: (outcome: string) => void,
  deadlines: Deadlines = stalls,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let endStall = () => {};
  let hasEnded = false;

  async function end(outcome: string): Promise<void> {
    endStall();
    if (hasEnded) return;
    hasEnded = true;
    try {
      await source.return();
    } finally {
      onEnd(outcome);
    }
  }

  function awaitClient(controller: ReadableStreamDefaultController): void {
    endStall = deadlines.start(() => {
      controller.error(new Error("The client has taken nothing"));
      end("was ended: its client has taken nothing for a while");
    });
  }

  return new ReadableStream({
    start: awaitClient,
    async pull(controller) {
      endStall();
      try {
        const { done, value } = await source.next();
        if (hasEnded) return;
        if (done === true) {
          controller.close();
          return await end("is complete");
        }
        controller.enqueue(value);
      } catch (error) {
        // The bytes before this say so too; the connection closes without the end of the body.
        controller.error(error);
        return await end(`has failed: ${error instanceof Error ? error.message : error}`);
      }
      awaitClient(controller);
    },
    cancel: () => end("was ended by its client"),
  }, { highWaterMark: 0 });
}

const PAGE_PART_CHARACTERS = 64 * 1024;

/** The body of a page: its entries, and the members behind them. */
export function pageBody<T>(
  entries: readonly T[],
  textOf: (entry: T) => string,
  tail: string,
  turns: Turns,
): Promise<string[]> {
  return listBody(entries, textOf, endsOfPage(tail), turns);
}

/** The same body, made at once: for pages that are known to be short. */
export function shortPageBody<T>(
  entries: readonly T[],
  textOf: (entry: T) => string,
  tail: string,
): string[] {
  return runAtOnce(listSteps(entries, textOf, endsOfPage(tail)));
}

function endsOfPage(tail: string): readonly [head: string, tail: string] {
  return ['{"ok":true,"data":[', `],${tail}}`];
}

/**
 * A body with a list, between the texts before and behind its entries. A list may have megabytes,
 * so the body is made in time slices.
 */
export async function listBody<T>(
  entries: readonly T[],
  textOf: (entry: T) => string,
  ends: readonly [head: string, tail: string],
  turns: Turns,
): Promise<string[]> {
  return await runWithin(openPieces(turns), listSteps(entries, textOf, ends));
}

function* listSteps<T>(
  entries: readonly T[],
  textOf: (entry: T) => string,
  [head, tail]: readonly [head: string, tail: string],
): Steps<string[]> {
  const parts: string[] = [];
  let text = head;
  let comma = "";
  for (const entry of entries) {
    text += comma + textOf(entry);
    comma = ",";
    if (text.length < PAGE_PART_CHARACTERS) continue;
    parts.push(text);
    text = "";
    yield;
  }
  return [...parts, text + tail];
}

/** The approximate length of a body; 0 for a refusal. */
export function lengthOfParts(body: Outcome<readonly Part[]>): number {
  return body.ok ? body.value.reduce((sum, { length }) => sum + length, 0) : 0;
}

/** In bytes. */
export function byteLength(part: Part): number {
  return typeof part === "string" ? Buffer.byteLength(part) : part.length;
}

/** The bytes of parts, in pieces of at most 64 KiB that are made one at a time. */
export function* cutParts(parts: readonly Part[]): Generator<Uint8Array<ArrayBuffer>, void> {
  for (const part of parts) {
    if (typeof part === "string") yield* cutText(part);
    else {
      for (let at = 0; at < part.length; at += PIECE_BYTES) {
        yield part.subarray(at, at + PIECE_BYTES);
      }
    }
  }
}

function* cutText(text: string): Generator<Uint8Array<ArrayBuffer>, void> {
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + PIECE_BYTES, text.length);
    // Do not split a surrogate pair.
    if (end < text.length && isFirstHalf(text.charCodeAt(end - 1))) end--;
    yield encoder.encode(text.slice(at, end));
    at = end;
  }
}

function isFirstHalf(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
