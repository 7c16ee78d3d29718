/**
 * API keys: `dbk_0_<prod|staging|test>_<43 base62>`, made from 256 random bits.
 *
 * The store holds only the SHA-256 of a key. A slower hash is not needed, because 256 random
 * bits cannot be guessed. See docs/reference/operators.md.
 */

import { hash } from "node:crypto";
import { assert } from "../assert.ts";
import type { Environment } from "../tenant.ts";

/** Random bytes in a key. */
export const API_KEY_SECRET_BYTES = 32;

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE = BigInt(ALPHABET.length);
/** 62^43 > 2^256, so 43 digits can write every secret, each in exactly one way. */
const SECRET_CHARACTERS = 43;
const LABELS: Readonly<Record<Environment, string>> = {
  production: "prod",
  staging: "staging",
  test: "test",
};
const FORM = /^dbk_0_(?:prod|staging|test)_[0-9A-Za-z]{43}$/;
const NAME = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]{1,100}$/u;

/** The key of an environment, made from the 32 bytes of `secret`. */
export function formatApiKey(environment: Environment, secret: Uint8Array): string {
  assert(secret.length === API_KEY_SECRET_BYTES, "an API key has 32 random bytes");
  return `dbk_0_${LABELS[environment]}_${encodeBase62(secret)}`;
}

/** The key of an environment that has this text, with zeros behind it. */
export function fillApiKey(environment: Environment, text: string): string {
  const key = `dbk_0_${LABELS[environment]}_${text.padEnd(SECRET_CHARACTERS, "0")}`;
  assert(FORM.test(key), "the text has at most 43 letters and digits");
  return key;
}

/** True if the text has the form of a key. A cheap check that saves hashing other texts. */
export function isApiKey(text: string): boolean {
  return FORM.test(text);
}

/** The digest by which a key is stored and found: 64 lowercase hex characters. */
export function hashApiKey(key: string): string {
  return hash("sha256", key, "hex");
}

/** Says in one sentence what is wrong with a key's name; undefined when nothing is. */
export function explainKeyName(name: string): string | undefined {
  if (NAME.test(name) && name.trim().length > 0) return undefined;
  return "name must be 1 to 100 printable characters";
}

/** Writes the bytes as one big-endian number in base 62, padded with zeros at the front. */
function encodeBase62(bytes: Uint8Array): string {
  let rest = bytes.reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);
  let digits = "";
  for (let place = 0; place < SECRET_CHARACTERS; place++) {
    digits = ALPHABET[Number(rest % BASE)] + digits;
    rest /= BASE;
  }
  return digits;
}
