/**
 * How pool and runner talk over pipes: two lengths (unsigned, 32 bits, little endian), a message as
 * JSON, and a body of bytes.
 */

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

/** Puts frames together from pieces of a stream, however it is cut. */
export interface FrameReader<T> {
  /** Takes a piece, which is copied. */
  push(piece: Uint8Array): void;
  /** The next whole frame, if it is there. Its body is the caller's. */
  next(): Frame<T> | undefined;
}

export function frameReader<T>(): FrameReader<T> {
  let held = new Uint8Array(64 * 1024);
  let start = 0;
  let end = 0;

  function push(piece: Uint8Array): void {
    if (end + piece.length > held.length) makeRoom(piece.length);
    held.set(piece, end);
    end += piece.length;
  }

  function makeRoom(bytes: number): void {
    const size = Math.max(held.length, 2 * (end - start + bytes));
    const roomier = size > held.length ? new Uint8Array(size) : held;
    roomier.set(held.subarray(start, end));
    [held, start, end] = [roomier, 0, end - start];
  }

  function next(): Frame<T> | undefined {
    if (end - start < LENGTHS_BYTES) return undefined;
    const lengths = new DataView(held.buffer, start);
    const textEnd = start + LENGTHS_BYTES + lengths.getUint32(0, true);
    const bodyEnd = textEnd + lengths.getUint32(4, true);
    if (bodyEnd > end) return undefined;
    const message = JSON.parse(decoder.decode(held.subarray(start + LENGTHS_BYTES, textEnd)));
    const body = held.slice(textEnd, bodyEnd);
    start = bodyEnd;
    if (start === end) start = end = 0;
    return { message, body };
  }

  return { push, next };
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
