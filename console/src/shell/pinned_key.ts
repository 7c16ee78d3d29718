/**
 * The public key that a reader trusts, kept in the browser for each server and instance. Evidence
 * carries the key that it is signed with, so only a key that was kept before can tell a forgery.
 */

import { signal } from "@preact/signals";
import { connection } from "./connection.ts";

/** Rises with every change, so that what shows the key is drawn again. */
const version = signal(0);

// Another tab may pin a key.
addEventListener("storage", () => version.value++);

/** Lowercase hex; undefined if none was pinned here. */
export function pinnedKey(): string | undefined {
  void version.value;
  return localStorage.getItem(nameOfPin()) ?? undefined;
}

export function pinKey(publicKey: string | undefined): void {
  if (publicKey === undefined) localStorage.removeItem(nameOfPin());
  else localStorage.setItem(nameOfPin(), publicKey);
  version.value++;
}

/** The storage belongs to the address of the server already. */
function nameOfPin(): string {
  return `daybook.key.${connection.value.instanceId ?? "own"}`;
}
