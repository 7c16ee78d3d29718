/** Parses one line of an environment file into a record, or says why it is not one. */

import { TIERS } from "../access/access.ts";
import { isJsonObject } from "../json.ts";
import { isBlobName } from "../wasm/blob.ts";
import { ENVIRONMENTS } from "../tenant.ts";
import {
  countFrom1,
  faultOf,
  hex64,
  objectOf,
  oneOf,
  type Shape,
  shortText,
  streamKeyText,
  text,
  time,
  wholeNumber,
} from "./field_checks.ts";
import { type FileRecord, FORMAT, FORMAT_VERSIONS_READ } from "./record.ts";
import { WORK_KINDS } from "./work.ts";
import { parseJson } from "../json_text/parse_json.ts";

/** Why a file is refused: the rule's name and a sentence. */
export interface RuleBreach {
  readonly rule: string;
  readonly message: string;
}

export type ParsedRecord =
  | { readonly ok: true; readonly record: FileRecord }
  | { readonly ok: false; readonly breach: RuleBreach };

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function isTarget(value: unknown): boolean {
  return Array.isArray(value) && value.length === 3 && streamKeyText(value[0]) &&
    wholeNumber(value[1]) && countFrom1(value[2]);
}

const instance: Shape = {
  id: (value) => typeof value === "string" && UUID.test(value),
  slug: shortText,
  tier: oneOf(TIERS),
  created_at: time,
};

const SHAPES: Readonly<Record<FileRecord["record"], Shape>> = {
  header: {
    format: text,
    version: wholeNumber,
    instance: objectOf(instance),
    environment: oneOf(ENVIRONMENTS),
    exported_at: time,
  },
  signing_key: { number: countFrom1, public_key: hex64, private_key: hex64, created_at: time },
  spec: { version: countFrom1, spec_hash: hex64, created_at: time, parts: countFrom1 },
  spec_part: { text },
  stream: {
    key: streamKeyText,
    // The store keeps it in 32 bits.
    generation: (value) => wholeNumber(value) && (value as number) <= 0xffff_ffff,
    created_at: wholeNumber,
    updated_at: wholeNumber,
    from: wholeNumber,
    "tip?": hex64,
  },
  tip: { length: countFrom1, tip: hex64 },
  api_key: {
    id: shortText,
    name: shortText,
    scope: oneOf(["read", "write"]),
    hash: hex64,
    created_at: time,
    "revoke_at?": time,
  },
  ledger: {
    key: shortText,
    body_hash: hex64,
    used: wholeNumber,
    form: oneOf(["single", "batch", "atomic"]),
    request_id: shortText,
    implied_count: wholeNumber,
    targets: (value) => Array.isArray(value) && value.length > 0 && value.every(isTarget),
  },
  work: { kind: oneOf(WORK_KINDS), parts: countFrom1 },
  work_part: { text },
  blob: {
    name: (value) => typeof value === "string" && isBlobName(value),
    version: countFrom1,
    sha256: hex64,
    bytes: countFrom1,
    created_at: time,
    parts: countFrom1,
  },
  blob_part: { text },
  current_spec: { version: countFrom1 },
};
/** The format version that introduced a record, if that was not the first. */
const SINCE: Readonly<Partial<Record<string, number>>> = {
  work: 2,
  work_part: 2,
  blob: 3,
  blob_part: 3,
};

/** True for an event's text as `encodeEvent` makes it, which reads can decode and fold. */
export function isStoredEvent(raw: string): boolean {
  let event: unknown;
  try {
    event = parseJson(raw);
  } catch {
    return false;
  }
  if (!isJsonObject(event)) return false;
  const { key, type, data, metadata } = event;
  return Object.keys(event).join() === "key,type,data,metadata" && text(key) && shortText(type) &&
    isJsonObject(data) && isJsonObject(metadata) && wholeNumber(metadata.timestamp) &&
    isJsonObject(metadata.actor);
}

/**
 * Strict: the record must exist in that version, its fields must all be known and well-formed,
 * and none may be missing.
 */
export function parseRecord(line: string, version: number): ParsedRecord {
  let value: unknown;
  try {
    value = parseJson(line);
  } catch {
    return breach("not_json", "the line is not JSON");
  }
  if (!isJsonObject(value)) return breach("not_an_object", "the line is not a JSON object");
  const { record: name, ...fields } = value;
  if (typeof name !== "string" || !Object.hasOwn(SHAPES, name) || version < (SINCE[name] ?? 1)) {
    return breach("unknown_record", `there is no record ${JSON.stringify(name)}`);
  }
  if (name === "header" && fields.format !== FORMAT) {
    return breach("unknown_format", `the format must be "${FORMAT}"`);
  }
  if (name === "header" && !FORMAT_VERSIONS_READ.includes(fields.version)) {
    const message = `this build reads the versions ${FORMAT_VERSIONS_READ.join(", ")} of the ` +
      `format, not ${JSON.stringify(fields.version)}`;
    return breach("unknown_version", message);
  }
  const fault = faultOf(fields, SHAPES[name as FileRecord["record"]]);
  if (fault !== undefined) return breach("record_fields", `record "${name}": ${fault}`);
  return { ok: true, record: value as unknown as FileRecord };
}

function breach(rule: string, message: string): ParsedRecord {
  return { ok: false, breach: { rule, message } };
}
