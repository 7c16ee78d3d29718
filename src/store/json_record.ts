/** Encodes small records as JSON text, one record under one key. */

import type { Bytes } from "../kv/engine.ts";
import { utf8Of } from "../kv/slab.ts";
import { parseJson } from "../domain/json_text/parse_json.ts";

const decoder = new TextDecoder();

export function encodeRecord(record: object): Bytes {
  return utf8Of(JSON.stringify(record));
}

/** The record as it was stored. Not validated, because only this store writes under these keys. */
export function decodeRecord<T>(value: Bytes): T {
  return parseJson(decoder.decode(value)) as T;
}
