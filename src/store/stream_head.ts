/** The head of a stream: all that a write must know of the events before it, in one small value. */

import { assert } from "../domain/assert.ts";
import type { ChainHash } from "../domain/audit/chain.ts";
import type { Bytes } from "../kv/engine.ts";

export interface StreamHead {
  /** Number of events. */
  readonly length: number;
  /** Sum of the stored events in UTF-8 bytes: what a fold from the start would read. */
  readonly bytes: number;
  /** Unix seconds of the first and of the latest event; 0 while there is none. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Grows when the stream is rewritten (erasure): what was read under another one is void. */
  readonly generation: number;
  /** Chain hash of the latest event; undefined while there is none. */
  readonly tip: ChainHash | undefined;
}

export const EMPTY_HEAD: StreamHead = {
  length: 0,
  bytes: 0,
  createdAt: 0,
  updatedAt: 0,
  generation: 0,
  tip: undefined,
};

const FORMAT = 1;
const TIP_OFFSET = 37;
const HEAD_BYTES = TIP_OFFSET + 32;

/** Format byte, four doubles, generation (u32), tip (32 bytes). Only heads with events are kept. */
export function encodeHead(head: StreamHead): Bytes {
  assert(head.tip !== undefined, "a stored head has a tip");
  const bytes = new Uint8Array(HEAD_BYTES);
  const view = new DataView(bytes.buffer);
  bytes[0] = FORMAT;
  view.setFloat64(1, head.length);
  view.setFloat64(9, head.bytes);
  view.setFloat64(17, head.createdAt);
  view.setFloat64(25, head.updatedAt);
  view.setUint32(33, head.generation);
  bytes.set(Uint8Array.fromHex(head.tip), TIP_OFFSET);
  return bytes;
}

export function decodeHead(bytes: Bytes | undefined): StreamHead {
  if (bytes === undefined) return EMPTY_HEAD;
  assert(bytes[0] === FORMAT && bytes.length === HEAD_BYTES, "a stream head has its format");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    length: view.getFloat64(1),
    bytes: view.getFloat64(9),
    createdAt: view.getFloat64(17),
    updatedAt: view.getFloat64(25),
    generation: view.getUint32(33),
    tip: bytes.subarray(TIP_OFFSET).toHex(),
  };
}
