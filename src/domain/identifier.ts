/**
 * Identifiers of aggregates, actors and targets, which all follow one rule.
 *
 * A text is normalized first; the result must be one of the four kinds. With its type, the
 * identifier of an aggregate is the key of its stream. See docs/reference/identifiers.md.
 */

import type { Texts } from "./lookup/text_map.ts";

export type IdentifierKind = "uuid" | "tagged_uuid" | "humane_code" | "singleton";

export interface Identifier {
  readonly kind: IdentifierKind;
  /** The canonical form, the only one that is stored, compared or shown. */
  readonly value: string;
}

/** The singleton that every aggregate type has without declaring it. */
export const GLOBAL_SINGLETON = "global";

/** Nearly all UUIDs are sent in this form, and all are stored in it. */
const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[45][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[45][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const UUID_OF_ANY_VERSION = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const TAG = /^[a-z0-9]{1,10}$/;
const NINE_LETTERS_OR_DIGITS = /^[0-9A-Za-z]{9}$/;
const LOOKALIKE = /[ILOU]/g;
const LOOKALIKES: Readonly<Record<string, string>> = { I: "1", L: "1", O: "0", U: "V" };
const UUID_CHARACTERS = 36;

/**
 * The canonical identifier of `text`, or undefined when it is none of the four kinds. Declared
 * singletons are looked up first, so that one of nine letters is not read as a humane code.
 */
export function parseIdentifier(
  text: string,
  singletons: Texts,
): Identifier | undefined {
  // Checked first: a singleton with this spelling gives the same value, and looking a new
  // string up in a set makes a copy of it.
  if (text.length === UUID_CHARACTERS && CANONICAL_UUID.test(text)) {
    return { kind: "uuid", value: text };
  }
  if (text === GLOBAL_SINGLETON || singletons.has(text)) return { kind: "singleton", value: text };
  if (text.length === UUID_CHARACTERS) {
    return UUID.test(text) ? { kind: "uuid", value: text.toLowerCase() } : undefined;
  }
  if (text.length > UUID_CHARACTERS) return parseTaggedUuid(text);
  if (!NINE_LETTERS_OR_DIGITS.test(text)) return undefined;
  return { kind: "humane_code", value: normalizeHumaneCode(text) };
}

function parseTaggedUuid(text: string): Identifier | undefined {
  if (text[UUID_CHARACTERS] !== ":") return undefined;
  const uuid = text.slice(0, UUID_CHARACTERS);
  const tag = text.slice(UUID_CHARACTERS + 1);
  if (!UUID.test(uuid) || !TAG.test(tag)) return undefined;
  return { kind: "tagged_uuid", value: `${uuid.toLowerCase()}:${tag}` };
}

function normalizeHumaneCode(text: string): string {
  return text.toUpperCase().replace(LOOKALIKE, (letter) => LOOKALIKES[letter]!);
}

/** Why `text` is not an identifier, in words for the person who sent it. */
export function explainIdentifier(text: string): string {
  if (text.length === 0) return "Identifier cannot be empty";
  const uuid = text.slice(0, UUID_CHARACTERS);
  if (text.length >= UUID_CHARACTERS && UUID_OF_ANY_VERSION.test(uuid)) {
    if (!UUID.test(uuid)) {
      return "UUID must be version 4 or 5 with variant 8, 9, a or b";
    }
    return "Tag after the UUID must be ':' and 1-10 characters of a-z and 0-9";
  }
  return "Identifier must be a UUID (version 4 or 5), a UUID with a tag (<uuid>:<tag>), " +
    "a humane code of 9 letters or digits, 'global' or a singleton declared in the spec";
}

declare const streamKeyBrand: unique symbol;

/** A canonical stream key. Only {@link streamKey} makes one. */
export type StreamKey = string & { readonly [streamKeyBrand]: "StreamKey" };

/**
 * `type` is a declared aggregate type, `id` a canonical identifier. A type never contains a
 * colon.
 */
export function streamKey(type: string, id: string): StreamKey {
  return `${type}:${id}` as StreamKey;
}

/** Splits a stream key into its two halves. */
export function splitStreamKey(key: StreamKey): { readonly type: string; readonly id: string } {
  const colon = key.indexOf(":");
  return { type: key.slice(0, colon), id: key.slice(colon + 1) };
}
