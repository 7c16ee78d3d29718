/** Operator accounts: which emails and passwords are valid, and when logins are locked. */

import { limits } from "../limits.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const EMAIL_CHARACTERS_MAX = 254;
const PASSWORD_CHARACTERS_MIN = 12;
const PASSWORD_CHARACTERS_MAX = 256;
/** A dot-atom before the @ (RFC 5322, 3.2.3) and host name labels after it. */
const EMAIL =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;

/** The email in its one stored spelling, or undefined when the text is not an email address. */
export function normalizeEmail(text: string): string | undefined {
  // Leave some room for white space around it. Longer texts are refused unread.
  if (text.length > 2 * EMAIL_CHARACTERS_MAX) return undefined;
  const email = text.trim().toLowerCase();
  const local = email.indexOf("@");
  const fits = email.length <= EMAIL_CHARACTERS_MAX && local <= 64;
  return fits && EMAIL.test(email) ? email : undefined;
}

/**
 * Whether the text is short enough to be an account's password. Call this before normalizing:
 * the time that normalization takes grows with the square of the number of accents in a row.
 */
export function mayBePassword(text: string): boolean {
  return text.length <= 2 * PASSWORD_CHARACTERS_MAX;
}

/** Gives a password one byte form, however its accents were typed (RFC 8265, 4.2.2). */
export function normalizePassword(password: string): string {
  return password.normalize("NFC");
}

/** Says in one sentence what is wrong with a new password; undefined when nothing is. */
export function explainPassword(password: string): string | undefined {
  if (mayBePassword(password)) {
    const characters = [...normalizePassword(password)].length;
    if (characters >= PASSWORD_CHARACTERS_MIN && characters <= PASSWORD_CHARACTERS_MAX) {
      return undefined;
    }
  }
  return `password must have ${PASSWORD_CHARACTERS_MIN} to ${PASSWORD_CHARACTERS_MAX} characters`;
}

export type LoginAttempt =
  | { readonly kind: "allowed"; readonly attemptsMs: readonly number[] }
  | { readonly kind: "locked"; readonly retryAfterSeconds: number };

/**
 * Whether another password may be tried. `attemptsMs` holds the earlier failed tries, oldest
 * first. Each try is counted before the password is checked, so that many parallel tries cannot
 * get around the limit.
 */
export function nextLoginAttempt(
  attemptsMs: readonly number[],
  nowMs: number,
  limit: number,
): LoginAttempt {
  const recent = attemptsMs.filter((at) => at > nowMs - MINUTE_MS);
  if (recent.length < limit) {
    return { kind: "allowed", attemptsMs: [...recent, nowMs] };
  }
  const waitMs = recent[0]! + MINUTE_MS - nowMs;
  return { kind: "locked", retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) };
}

/** True when none of the tries counts any longer. */
export function attemptsAreOver(attemptsMs: readonly number[], nowMs: number): boolean {
  return attemptsMs.every((at) => at <= nowMs - MINUTE_MS);
}

/** An address from which a user has logged in with the right password. */
export interface LoginPlace {
  /** A digest of the address. It is only compared, never shown. */
  readonly place: string;
  readonly atMs: number;
}

export function isKnownPlace(places: readonly LoginPlace[], place: string, nowMs: number): boolean {
  return places.some((one) => one.place === place && !isForgotten(one, nowMs));
}

/**
 * Returns the list with `place` as its newest entry. Returns the same list if the place was
 * noted less than a day ago, so that most logins cause no write.
 */
export function rememberPlace(
  places: readonly LoginPlace[],
  place: string,
  nowMs: number,
): readonly LoginPlace[] {
  const known = places.find((one) => one.place === place);
  if (known !== undefined && nowMs - known.atMs < DAY_MS) return places;
  const others = places.filter((one) => one.place !== place && !isForgotten(one, nowMs));
  return [...others, { place, atMs: nowMs }].slice(-limits.rememberedLoginAddressesMax);
}

function isForgotten({ atMs }: LoginPlace, nowMs: number): boolean {
  return nowMs - atMs > limits.rememberedLoginSeconds * 1000;
}
