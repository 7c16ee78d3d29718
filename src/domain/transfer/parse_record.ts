/** One line of an environment file becomes a record, or the reason why it is none. */

import { TIERS } from "../access.ts";
import { isJsonObject } from "../json.ts";
import { ENVIRONMENTS } from "../tenant.ts";
import { type FileRecord, FORMAT, FORMAT_VERSION } from "./record.ts";

/** Why a file is refused: the rule's name and a sentence. */
export interface RuleBreach {
  readonly rule: string;
  readonly message: string;
}

export type ParsedRecord =
  | { readonly ok: true; readonly record: FileRecord }
  | { readonly ok: false; readonly breach: RuleBreach };

type Check = (value: unknown) => boolean;
/** The fields of a record; a name that ends with `?` may be left out. */
type Shape = Readonly<Record<string, Check>>;

const HEX_64 = /^[0-9a-f]{64}$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const STREAM_KEY = /^[a-z][a-z0-9_]{0,63}:[^\0]+$/;
const KEY_CHARACTERS_MAX = 1_000;

function text(value: unknown): boolean {
  return typeof value === "string";
}

function shortText(value: unknown): boolean {
  return typeof value === "string" && value.length > 0 && value.length <= KEY_CHARACTERS_MAX &&
    value.isWellFormed();
}

function count(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function countFrom1(value: unknown): boolean {
  return count(value) && value !== 0;
}

function hex64(value: unknown): boolean {
  return typeof value === "string" && HEX_64.test(value);
}

function time(value: unknown): boolean {
  return typeof value === "string" && !Number.isNaN(Date.parse(value));
}

function streamKeyText(value: unknown): boolean {
  return shortText(value) && STREAM_KEY.test(value as string);
}

function oneOf(values: readonly unknown[]): Check {
  return (value) => values.includes(value);
}

function isTarget(value: unknown): boolean {
  return Array.isArray(value) && value.length === 3 && streamKeyText(value[0]) &&
    count(value[1]) && countFrom1(value[2]);
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
    version: count,
    instance: (value) => isJsonObject(value) && faultOf(value, instance) === undefined,
    environment: oneOf(ENVIRONMENTS),
    exported_at: time,
  },
  signing_key: { number: countFrom1, public_key: hex64, private_key: hex64, created_at: time },
  spec: { version: countFrom1, spec_hash: hex64, created_at: time, parts: countFrom1 },
  spec_part: { text },
  stream: {
    key: streamKeyText,
    // The store keeps it in 32 bits.
    generation: (value) => count(value) && (value as number) <= 0xffff_ffff,
    created_at: count,
    updated_at: count,
    from: count,
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
    used: count,
    form: oneOf(["single", "batch", "atomic"]),
    request_id: shortText,
    implied_count: count,
    targets: (value) => Array.isArray(value) && value.length > 0 && value.every(isTarget),
  },
  current_spec: { version: countFrom1 },
};

/** True for the text of an event as `encodeEvent` makes it: what reads can decode and fold. */
export function isStoredEvent(raw: string): boolean {
  let event: unknown;
  try {
    event = JSON.parse(raw);
  } catch {
    return false;
  }
  if (!isJsonObject(event)) return false;
  const { key, type, data, metadata } = event;
  return Object.keys(event).join() === "key,type,data,metadata" && text(key) && shortText(type) &&
    isJsonObject(data) && isJsonObject(metadata) && count(metadata.timestamp) &&
    isJsonObject(metadata.actor);
}

/** Strict: every field there is known and of its form, and none is missing. */
export function parseRecord(line: string): ParsedRecord {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return breach("not_json", "the line is not JSON");
  }
  if (!isJsonObject(value)) return breach("not_an_object", "the line is not a JSON object");
  const { record: name, ...fields } = value;
  if (typeof name !== "string" || !Object.hasOwn(SHAPES, name)) {
    return breach("unknown_record", `there is no record ${JSON.stringify(name)}`);
  }
  if (name === "header" && fields.format !== FORMAT) {
    return breach("unknown_format", `the format must be "${FORMAT}"`);
  }
  if (name === "header" && fields.version !== FORMAT_VERSION) {
    const message = `this build reads version ${FORMAT_VERSION} of the format, not ` +
      JSON.stringify(fields.version);
    return breach("unknown_version", message);
  }
  const fault = faultOf(fields, SHAPES[name as FileRecord["record"]]);
  if (fault !== undefined) return breach("record_fields", `record "${name}": ${fault}`);
  return { ok: true, record: value as unknown as FileRecord };
}

function faultOf(fields: Readonly<Record<string, unknown>>, shape: Shape): string | undefined {
  const known = new Set<string>();
  for (const [field, check] of Object.entries(shape)) {
    const isOptional = field.endsWith("?");
    const name = isOptional ? field.slice(0, -1) : field;
    known.add(name);
    if (!Object.hasOwn(fields, name)) {
      if (!isOptional) return `the field "${name}" is missing`;
    } else if (!check(fields[name])) return `the field "${name}" does not have its form`;
  }
  const unknown = Object.keys(fields).find((name) => !known.has(name));
  return unknown === undefined ? undefined : `there is no field ${JSON.stringify(unknown)}`;
}

function breach(rule: string, message: string): ParsedRecord {
  return { ok: false, breach: { rule, message } };
}
