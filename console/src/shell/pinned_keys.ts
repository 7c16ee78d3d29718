/**
 * The public keys that a reader trusts, kept in the browser for each environment of each instance.
 * Evidence carries the key that it is signed with, so only a key that was kept before can tell a
 * forgery. An instance may sign with a new key, so there may be several.
 */

import { signal } from "@preact/signals";
import { addPin, nameOfPins, parsePins, type Pin, type PinScope, removePin } from "./pins.ts";

/** Rises with every change, so that what shows the keys is drawn again. */
const version = signal(0);

// Another tab may pin a key.
addEventListener("storage", () => version.value++);

/** The pins of one environment of one instance, oldest first. They vouch for no other. */
export function pinnedKeys(scope: PinScope): readonly Pin[] {
  void version.value;
  return parsePins(localStorage.getItem(nameOfPins(scope)));
}

/** `from`: set if the server has named the key, and nobody else. */
export function pinKey(scope: PinScope, publicKey: string, from?: "server"): void {
  const pin = { public_key: publicKey, from };
  keep(scope, addPin(pinnedKeys(scope), pin, new Date().toISOString()));
}

export function unpinKey(scope: PinScope, publicKey: string): void {
  keep(scope, removePin(pinnedKeys(scope), publicKey));
}

function keep(scope: PinScope, pins: readonly Pin[]): void {
  if (pins.length === 0) localStorage.removeItem(nameOfPins(scope));
  else localStorage.setItem(nameOfPins(scope), JSON.stringify(pins));
  version.value++;
}
