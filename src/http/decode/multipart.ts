/**
 * Bodies of `multipart/form-data` (RFC 7578) with one file. Spec: "`POST /_admin/blobs` with
 * multipart fields `name` (blob name) and `file` (compiled module)".
 */

import { limits } from "../../domain/limits.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { readRawBody } from "./body.ts";

const MULTIPART = /^multipart\/form-data\s*;/i;
/** What a form has beside its file: boundaries, names, short texts. */
const FORM_BYTES_MAX = 64 * 1024;

/** The form of an upload; texts as they were sent. */
export interface UploadForm {
  readonly name: string;
  readonly file: Uint8Array<ArrayBuffer>;
  readonly environment?: string;
  readonly instance_id?: string;
}

const TEXT_FIELDS = ["name", "environment", "instance_id"] as const;

/** 400 for what is no such form, 413 for a file or body that is too large. */
export async function readUploadForm(request: Request): Promise<Outcome<UploadForm>> {
  const contentType = request.headers.get("content-type") ?? "";
  if (!MULTIPART.test(contentType)) {
    return bad("Content-Type must be multipart/form-data, with the fields name and file");
  }
  const body = await readRawBody(request, limits.wasmModuleBytesMax + FORM_BYTES_MAX);
  if (!body.ok) return body;
  let form: FormData;
  try {
    const headers = { "content-type": contentType };
    form = await new Response(new Uint8Array(body.value), { headers }).formData();
  } catch {
    return bad("Request body is not valid multipart/form-data");
  }
  return await checkForm(form);
}

async function checkForm(form: FormData): Promise<Outcome<UploadForm>> {
  const known: readonly string[] = [...TEXT_FIELDS, "file"];
  const texts: Partial<Record<typeof TEXT_FIELDS[number], string>> = {};
  for (const key of new Set(form.keys())) {
    if (!known.includes(key)) return bad(`Unknown field: ${key.slice(0, 100)}`, key.slice(0, 100));
    if (form.getAll(key).length > 1) return bad(`${key} must be sent once`, key);
  }
  for (const field of TEXT_FIELDS) {
    const value = form.get(field);
    if (value === null) continue;
    if (typeof value !== "string") return bad(`${field} must be a text, not a file`, field);
    texts[field] = value;
  }
  const { name, ...place } = texts;
  if (name === undefined) return bad("name is required", "name");
  const file = form.get("file");
  if (file === null) return bad("file is required", "file");
  if (typeof file === "string") return bad("file must be a file, not a text", "file");
  const limit = limits.wasmModuleBytesMax;
  if (file.size > limit) {
    const message = `The module has ${file.size} bytes, at most ${limit} are allowed`;
    return refuse({ kind: "payload_too_large", message, limit, path: "file" });
  }
  return accept({ name, file: await file.bytes(), ...place });
}

function bad(message: string, path?: string) {
  return refuse({ kind: "bad_request", message, path });
}
