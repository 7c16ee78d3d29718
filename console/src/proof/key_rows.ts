/** The keys that the server names and those that are pinned, as one list. */

import type { Pin, PinScope } from "../shell/pins.ts";

/** What the server says of the keys that sign its anchors. */
export interface SigningKeys {
  readonly public_key: string;
  readonly created_at: string;
  readonly instance_id?: string;
  readonly environment?: string;
  /** Also earlier ones, oldest first. */
  readonly keys?: readonly { readonly public_key: string; readonly created_at: string }[];
}

export interface KeyRow {
  readonly public_key: string;
  readonly signs: "now" | "in the past" | "not known to the server";
  readonly created_at?: string;
  readonly pinned_at?: string;
  /** The pin was taken from the server itself. */
  readonly isFromServer?: boolean;
}

/** A server could name any number of keys; this many of the newest are shown. */
const KEYS_SHOWN = 100;

/** The key that signs now first, then earlier ones, then pins of which the server says nothing. */
export function keyRows(signing: SigningKeys, pins: readonly Pin[]): readonly KeyRow[] {
  const pinned = new Map(pins.map((pin) => [pin.public_key, pinnedPart(pin)]));
  const known = new Map<string, KeyRow>();
  const listed = (signing.keys ?? []).slice(-KEYS_SHOWN).reverse();
  for (const { public_key, created_at } of [signing, ...listed]) {
    if (known.has(public_key)) continue;
    const signs = public_key === signing.public_key ? "now" : "in the past";
    known.set(public_key, { public_key, signs, created_at, ...pinned.get(public_key) });
  }
  for (const { public_key } of pins) {
    if (known.has(public_key)) continue;
    const signs = "not known to the server";
    known.set(public_key, { public_key, signs, ...pinned.get(public_key) });
  }
  return [...known.values()];
}

function pinnedPart({ pinned_at, from }: Pin): Pick<KeyRow, "pinned_at" | "isFromServer"> {
  return { pinned_at, isFromServer: from === "server" };
}

/**
 * Whose keys these are. An API key does not name its instance, so the server does. If an operator
 * has chosen an instance and the server answers for another one, no pin may vouch.
 */
export function scopeOf(
  { instance_id, environment }: SigningKeys,
  chosen: { readonly instanceId?: string; readonly environment: string },
): PinScope | undefined {
  if (typeof instance_id !== "string" || instance_id === "") return undefined;
  if (chosen.instanceId !== undefined && chosen.instanceId !== instance_id) return undefined;
  if (environment !== chosen.environment) return undefined;
  return { instanceId: instance_id, environment: chosen.environment };
}
