/**
 * Splits a `multipart/form-data` body (RFC 7578) into its parts.
 *
 * It searches for each boundary, so the work is linear in the bytes, whatever they hold. It may
 * rest between windows of the body.
 */

import { Buffer } from "node:buffer";
import type { Steps } from "../../domain/fairness/pieces.ts";

export interface FormPart {
  readonly name: string;
  readonly isFile: boolean;
  /** A view of the body. */
  readonly content: Uint8Array<ArrayBuffer>;
}

/** No upload has more. */
const PARTS_MAX = 16;
const HEAD_BYTES_MAX = 8 * 1024;
/** RFC 2046, 5.1.1. */
const BOUNDARY = /;\s*boundary=(?:"([^"]{1,70})"|([^\s";]{1,70}))\s*(?:;|$)/i;
const DISPOSITION = /^content-disposition[ \t]*:[ \t]*form-data[ \t]*(?:;|$)/i;
const NAME = /;[ \t]*name="([^"]*)"/i;
const FILE_NAME = /;[ \t]*filename\*?=/i;
const LINE_END = Buffer.from("\r\n");
const HEAD_END = Buffer.from("\r\n\r\n");
const DASH = 0x2d;
/** The bytes searched between two rests; the slowest search takes a millisecond for them. */
const WINDOW_BYTES = 128 * 1024;

/** Undefined if the body is not such a form or has more parts than any upload. */
export function* formPartsSteps(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string,
): Steps<FormPart[] | undefined> {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return undefined;
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const parts: FormPart[] = [];
  let at = yield* afterFirst(body, delimiter);
  for (;;) {
    if (at === undefined) return undefined;
    if (body[at] === DASH && body[at + 1] === DASH) return parts;
    const head = headOf(body, at);
    if (head === undefined || parts.length === PARTS_MAX) return undefined;
    // If the part is empty, the line end of its head is also that of the delimiter.
    const end = yield* find(body, delimiter, head.end - LINE_END.length);
    if (end < 0) return undefined;
    const field = fieldOf(head.text);
    if (field === undefined) return undefined;
    parts.push({ ...field, content: bytes.subarray(head.end, Math.max(head.end, end)) });
    at = end + delimiter.length;
  }
}

/** The position after the first delimiter, which may be the first line or follow other lines. */
function* afterFirst(body: Buffer, delimiter: Buffer): Steps<number | undefined> {
  const bare = delimiter.subarray(LINE_END.length);
  if (body.subarray(0, bare.length).equals(bare)) return bare.length;
  const found = yield* find(body, delimiter, 0);
  return found < 0 ? undefined : found + delimiter.length;
}

/** The position of the next `wanted`; -1 if there is none. */
function* find(body: Buffer, wanted: Buffer, from: number): Steps<number> {
  for (let at = from; at < body.length; at += WINDOW_BYTES) {
    // A match that begins in this window may end in the next one.
    const window = body.subarray(at, at + WINDOW_BYTES + wanted.length - 1);
    const found = window.indexOf(wanted);
    if (found >= 0) return at + found;
    yield;
  }
  return -1;
}

/** The lines between a delimiter and the content. */
function headOf(body: Buffer, at: number): { text: string; end: number } | undefined {
  const lines = body.subarray(at, at + HEAD_BYTES_MAX + HEAD_END.length);
  const length = lines.indexOf(HEAD_END);
  if (length < 0) return undefined;
  const end = at + length;
  return { text: body.toString("utf8", at, end), end: end + HEAD_END.length };
}

function fieldOf(head: string): Pick<FormPart, "name" | "isFile"> | undefined {
  // The text before the first line end is padding of the delimiter.
  const [, ...lines] = head.split("\r\n");
  const line = lines.find((text) => DISPOSITION.test(text));
  const name = line === undefined ? undefined : NAME.exec(line)?.[1];
  if (line === undefined || name === undefined) return undefined;
  return { name: name.replaceAll("%22", '"'), isFile: FILE_NAME.test(line) };
}
