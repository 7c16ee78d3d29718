/**
 * API keys: `dbk_0_<prod|staging|test>_<43 base62>`, 256 random bits. Only the SHA-256 of a key
 * is ever stored; with 256 random bits in it, no slower hash is needed. Spec: "Authentication".
 */

import { hash } from "node:crypto";
import { assert } from "./assert.ts";
import type { Environment } from "./tenant.ts";

/** Random bytes in a key. */
export const API_KEY_SECRET_BYTES = 32;

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE = BigInt(ALPHABET.length);
/** 62^43 > 2^256: 43 digits hold every secret, each in exactly one way. */
const SECRET_CHARACTERS = 43;
const LABELS: Readonly<Record<Environment, string>> = {
  production: "prod",
  staging: "staging",
  test: "test",
};
const FORM = /^dbk_0_(?:prod|staging|test)_[0-9A-Za-z]{43}$/;
const NAME = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]{1,100}$/u;

/** The key of an environment whose secret is the 32 bytes of `secret`. */
export function formatApiKey(environment: Environment, secret: Uint8Array): string {
  assert(secret.length === API_KEY_SECRET_BYTES, "an API key has 32 random bytes");
  return `dbk_0_${LABELS[environment]}_${encodeBase62(secret)}`;
}

/** True for a text that could be a key. Cheap: it keeps rubbish from being hashed. */
export function isApiKey(text: string): boolean {
  return FORM.test(text);
}

/** 64 lowercase hex characters: under what a key is kept and found. */
export function hashApiKey(key: string): string {
  return hash("sha256", key, "hex");
}

/** What is wrong with the name of a key, as a sentence; undefined when nothing is. */
export function explainKeyName(name: string): string | undefined {
  if (NAME.test(name) && name.trim().length > 0) return undefined;
  return "name must be 1 to 100 printable characters";
}

/** The bytes as one big-endian number, in digits of the alphabet, zeros in front. */
function encodeBase62(bytes: Uint8Array): string {
  let rest = bytes.reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);
  let digits = "";
  for (let place = 0; place < SECRET_CHARACTERS; place++) {
    digits = ALPHABET[Number(rest % BASE)] + digits;
    rest /= BASE;
  }
  return digits;
}
