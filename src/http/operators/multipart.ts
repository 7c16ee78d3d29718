/**
 * Reads `multipart/form-data` bodies (RFC 7578) with one file, as module uploads send them.
 *
 * See docs/reference/modules.md.
 */

import { limits } from "../../domain/limits.ts";
import { runInPieces } from "../../domain/fairness/pieces.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { readBody, type Sender, type Sink } from "../decode/body_bytes.ts";
import { type FormPart, formPartsSteps } from "./multipart_parts.ts";

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
