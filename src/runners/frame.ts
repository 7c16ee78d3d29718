/**
 * The frames in which a pool and its runners talk over pipes. A frame is two lengths (unsigned,
 * 32 bits, little endian), a message as JSON, and a body of bytes.
 */

import { parseJson } from "../domain/json_text/parse_json.ts";

export interface Frame<T> {
  readonly message: T;
  readonly body: Uint8Array<ArrayBuffer>;
}

const LENGTHS_BYTES = 8;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeFrame(message: unknown, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const text = encoder.encode(JSON.stringify(message));
  const frame = new Uint8Array(LENGTHS_BYTES + text.length + body.length);
  const lengths = new DataView(frame.buffer);
  lengths.setUint32(0, text.length, true);
  lengths.setUint32(4, body.length, true);
  frame.set(text, LENGTHS_BYTES);
  frame.set(body, LENGTHS_BYTES + text.length);
  return frame;
}

/** Puts frames together from the pieces of a stream, however it is cut. */
export interface FrameReader<T> {
  /**
   * Takes a piece and copies it.
   * @throws {RangeError} if a frame is larger than any frame can be.
   */
  push(piece: Uint8Array): void;
  /** The next whole frame, or undefined if none is complete. The caller owns its body. */
  next(): Frame<T> | undefined;
}

/** The largest frame is a fold: a state with the events to fold onto it. */
const FRAME_BYTES_MAX = 256 * 1024 * 1024;

/** Copies each frame once, into arrays of its exact size; no buffer is kept for later frames. */
export function frameReader<T>(): FrameReader<T> {
  const lengths = new Uint8Array(LENGTHS_BYTES);
  const view = new DataView(lengths.buffer);
  const whole: Frame<T>[] = [];
  let text: Uint8Array<ArrayBuffer> | undefined;
  let body: Uint8Array<ArrayBuffer> | undefined;
  /** Bytes of the lengths, or else of the content, that have arrived. */
  let filled = 0;

  function push(piece: Uint8Array): void {
    for (let at = 0; at < piece.length;) {
      at += text === undefined || body === undefined
        ? takeLengths(piece.subarray(at))
        : takeContent(text, body, piece.subarray(at));
      if (text !== undefined && body !== undefined) endFrame(text, body);
    }
  }

  function takeLengths(piece: Uint8Array): number {
    const taken = copyInto(lengths, filled, piece);
    filled += taken;
    if (filled < LENGTHS_BYTES) return taken;
    const [textBytes, bodyBytes] = [view.getUint32(0, true), view.getUint32(4, true)];
    if (textBytes + bodyBytes > FRAME_BYTES_MAX) throw new RangeError("a frame is too large");
    text = new Uint8Array(textBytes);
    body = new Uint8Array(bodyBytes);
    filled = 0;
    return taken;
  }

  function takeContent(text: Uint8Array, body: Uint8Array, piece: Uint8Array): number {
    const ofText = copyInto(text, filled, piece);
    filled += ofText;
    if (filled < text.length) return ofText;
    const ofBody = copyInto(body, filled - text.length, piece.subarray(ofText));
    filled += ofBody;
    return ofText + ofBody;
  }

  function endFrame(message: Uint8Array, content: Uint8Array<ArrayBuffer>): void {
    if (filled < message.length + content.length) return;
    whole.push({ message: parseJson(decoder.decode(message)), body: content });
    text = body = undefined;
    filled = 0;
  }

  return { push, next: () => whole.shift() };
}

/** Copies as much of the piece as there is room for, and returns how much that was. */
function copyInto(target: Uint8Array, at: number, piece: Uint8Array): number {
  const room = target.length - at;
  if (room <= 0) return 0;
  const taken = piece.length > room ? piece.subarray(0, room) : piece;
  target.set(taken, at);
  return taken.length;
}

export function joinBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
