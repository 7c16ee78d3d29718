/**
 * Reads `multipart/form-data` bodies (RFC 7578) with one file, as module uploads send them.
 *
 * See docs/reference/modules.md.
 */

import { limits } from "../../domain/limits.ts";
import { runInPieces, type Steps } from "../../domain/fairness/pieces.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { readBody, type Sender, type Sink } from "../decode/body_bytes.ts";
import { Buffer } from "node:buffer";

const decoder = new TextDecoder();
const MULTIPART = /^multipart\/form-data\s*;/i;
/** The size of a form beside its file: boundaries, names, short texts. */
const FORM_BYTES_MAX = 64 * 1024;

/** The form of an upload, with texts as sent. */
export interface UploadForm {
  readonly name: string;
  readonly file: Uint8Array<ArrayBuffer>;
  readonly environment?: string;
  readonly instance_id?: string;
}

const TEXT_FIELDS = ["name", "environment", "instance_id"] as const;

/** 400 for any other form; 413 for a file or body that is too large. */
export async function readUploadForm(sender: Sender): Promise<Outcome<UploadForm>> {
  const contentType = sender.request.headers.get("content-type") ?? "";
  if (!MULTIPART.test(contentType)) {
    return bad("Content-Type must be multipart/form-data, with the fields name and file");
  }
  const body = await readBody(sender, bytesSink(), limits.wasmModuleBytesMax + FORM_BYTES_MAX);
  if (!body.ok) return body;
  const parts = await runInPieces(formPartsSteps(body.value, contentType), sender.host);
  if (parts === undefined) return bad("Request body is not valid multipart/form-data");
  return checkForm(parts);
}

function bytesSink(): Sink<Uint8Array<ArrayBuffer>> {
  const blocks: Uint8Array<ArrayBuffer>[] = [];
  return {
    add(block) {
      blocks.push(block.slice());
      return true;
    },
    end: () => accept(concatenate(blocks)),
  };
}

function concatenate(blocks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(blocks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const block of blocks) {
    all.set(block, at);
    at += block.length;
  }
  return all;
}

function checkForm(parts: readonly FormPart[]): Outcome<UploadForm> {
  const known: readonly string[] = [...TEXT_FIELDS, "file"];
  for (const { name } of parts) {
    const shown = name.slice(0, 100);
    if (!known.includes(name)) return bad(`Unknown field: ${shown}`, shown);
    const times = parts.filter((part) => part.name === name).length;
    if (times > 1) return bad(`${name} must be sent once`, name);
  }
  const texts: Partial<Record<typeof TEXT_FIELDS[number], string>> = {};
  for (const field of TEXT_FIELDS) {
    const part = parts.find(({ name }) => name === field);
    if (part === undefined) continue;
    if (part.isFile) return bad(`${field} must be a text, not a file`, field);
    texts[field] = decoder.decode(part.content);
  }
  const { name, ...place } = texts;
  if (name === undefined) return bad("name is required", "name");
  const file = parts.find((part) => part.name === "file");
  if (file === undefined) return bad("file is required", "file");
  if (!file.isFile) return bad("file must be a file, not a text", "file");
  const limit = limits.wasmModuleBytesMax;
  const { length } = file.content;
  if (length > limit) {
    const message = `The module has ${length} bytes, at most ${limit} are allowed`;
    return refuse({ kind: "payload_too_large", message, limit, path: "file" });
  }
  return accept({ name, file: file.content.slice(), ...place });
}

function bad(message: string, path?: string) {
  return refuse({ kind: "bad_request", message, path });
}

interface FormPart {
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

/**
 * The parts of a body; undefined if it is not such a form or has more parts than any upload. It
 * searches for each boundary, so the work is linear in the bytes, whatever they hold. It may rest
 * between windows of the body.
 */
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
