/**
 * The parts of a `multipart/form-data` body (RFC 7578). Each boundary is searched for, so the work
 * grows with the bytes alone, whatever stands in them.
 */

import { Buffer } from "node:buffer";

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

/** Undefined for a body that is not such a form, or has more parts than any upload. */
export function parseFormParts(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string,
): FormPart[] | undefined {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return undefined;
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const parts: FormPart[] = [];
  let at = afterFirst(body, delimiter);
  for (;;) {
    if (at === undefined) return undefined;
    if (body[at] === DASH && body[at + 1] === DASH) return parts;
    const head = headOf(body, at);
    if (head === undefined || parts.length === PARTS_MAX) return undefined;
    // The line end of the head is that of the delimiter where the part is empty.
    const end = body.indexOf(delimiter, head.end - LINE_END.length);
    if (end < 0) return undefined;
    const field = fieldOf(head.text);
    if (field === undefined) return undefined;
    parts.push({ ...field, content: bytes.subarray(head.end, Math.max(head.end, end)) });
    at = end + delimiter.length;
  }
}

/** Behind the first delimiter, which may be the first line or come after others. */
function afterFirst(body: Buffer, delimiter: Buffer): number | undefined {
  const bare = delimiter.subarray(LINE_END.length);
  if (body.subarray(0, bare.length).equals(bare)) return bare.length;
  const found = body.indexOf(delimiter);
  return found < 0 ? undefined : found + delimiter.length;
}

/** The lines between a delimiter and the content. */
function headOf(body: Buffer, at: number): { text: string; end: number } | undefined {
  const end = body.indexOf(HEAD_END, at);
  if (end < 0 || end - at > HEAD_BYTES_MAX) return undefined;
  return { text: body.toString("utf8", at, end), end: end + HEAD_END.length };
}

function fieldOf(head: string): Pick<FormPart, "name" | "isFile"> | undefined {
  // What stands before the first line end is padding of the delimiter.
  const [, ...lines] = head.split("\r\n");
  const line = lines.find((text) => DISPOSITION.test(text));
  const name = line === undefined ? undefined : NAME.exec(line)?.[1];
  if (line === undefined || name === undefined) return undefined;
  return { name: name.replaceAll("%22", '"'), isFile: FILE_NAME.test(line) };
}
