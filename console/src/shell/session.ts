/**
 * Who uses the console: an operator token, an API key, or both. They are kept in memory and in
 * `sessionStorage`, which ends with the tab, and in no cookie. A token may come in the fragment of
 * the address (`#token=...`), which no server sees; it is taken out of the address at once.
 */

import { type ReadonlySignal, signal } from "@preact/signals";
import { takeFromFragment } from "./router.ts";

/** Each may be absent; without both nobody is signed in. */
export interface Credentials {
  /** An operator token: sees the instances it may, and administers them. */
  readonly token?: string;
  /** An API key: reads and perhaps writes the data of one environment of one instance. */
  readonly key?: string;
}

const KEPT_UNDER = "daybook.credentials";

const kept = signal<Credentials>({});
const leftBecause = signal<string | undefined>(undefined);
const keyRefused = signal(false);

export const credentials: ReadonlySignal<Credentials> = kept;

/** Why the last session ended, if not by the wish of the user. */
export const signOutReason: ReadonlySignal<string | undefined> = leftBecause;

/** Whether the server no longer accepts the key by which an operator wrote. */
export const isKeyRefused: ReadonlySignal<boolean> = keyRefused;

export function isSignedIn({ token, key }: Credentials): boolean {
  return token !== undefined || key !== undefined;
}

/** What a session stands for: an operator who adds or loses a key goes on with the same one. */
export function sessionOf({ token, key }: Credentials): string | undefined {
  return token ?? key;
}

/** An API key begins with `dbk_`; everything else is taken for an operator token. */
export function credentialsOf(text: string): Credentials {
  const bare = text.trim();
  if (bare === "") return {};
  return bare.startsWith("dbk_") ? { key: bare } : { token: bare };
}

export function signIn(given: Credentials): void {
  leftBecause.value = undefined;
  kept.value = given;
  sessionStorage.setItem(KEPT_UNDER, JSON.stringify(given));
}

/** Adds the key by which an operator writes. */
export function addKey(key: string): void {
  keyRefused.value = false;
  signIn({ ...kept.peek(), key });
}

/** The server no longer accepts a token. An answer to an earlier token ends no session. */
export function refuseToken(refused: string, reason: string): void {
  if (kept.peek().token === refused) signOut(reason);
}

/** The server no longer accepts a key, if it is still the one in use. With a token, all goes on. */
export function refuseKey(refused: string, reason: string): void {
  const { token, key } = kept.peek();
  if (key !== refused) return;
  if (token === undefined) return signOut(reason);
  signIn({ token });
  keyRefused.value = true;
}

export function signOut(reason?: string): void {
  leftBecause.value = reason;
  keyRefused.value = false;
  kept.value = {};
  sessionStorage.removeItem(KEPT_UNDER);
  // Whoever signs out leaves nothing behind in the tab; whose session has expired goes on where
  // they were. What the browser keeps for all sessions stays, and the page to sign in says so.
  if (reason === undefined) sessionStorage.clear();
}

/** Signs in with the token of the address, now or whenever one comes, or as before a reload. */
export function restoreSession(): void {
  kept.value = parseCredentials(sessionStorage.getItem(KEPT_UNDER));
  signInFromFragment();
  addEventListener("hashchange", signInFromFragment);
}

/** Another credential begins another session: nothing of the one before is left to it. */
function signInFromFragment(): void {
  const text = takeFromFragment("token");
  if (text === undefined) return;
  const given = credentialsOf(text);
  const now = kept.peek();
  if (!isSignedIn(given) || sessionOf(given) === sessionOf(now)) return;
  if (isSignedIn(now)) signOut();
  signIn(given);
}

function parseCredentials(text: string | null): Credentials {
  try {
    const { token, key } = JSON.parse(text ?? "{}");
    return {
      token: typeof token === "string" ? token : undefined,
      key: typeof key === "string" ? key : undefined,
    };
  } catch {
    return {};
  }
}
