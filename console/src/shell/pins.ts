/** Pinned keys as text: what the browser keeps of them, and what it takes for a key. */

/** Whose evidence a pin vouches for: all of an instance is signed alike, so both are named. */
export interface PinScope {
  readonly instanceId: string;
  readonly environment: string;
}

export interface Pin {
  /** 64 lowercase hex characters. */
  readonly public_key: string;
  /** ISO 8601 UTC. */
  readonly pinned_at: string;
  /** Set if the key was taken from the server that it is to check, and not typed or pasted. */
  readonly from?: "server";
}

/** So many keys of one scope are kept. */
const PINS_MAX = 100;
const PUBLIC_KEY = /^[0-9a-f]{64}$/;

/** The name under which the pins of a scope are kept: no two scopes share one. */
export function nameOfPins({ instanceId, environment }: PinScope): string {
  return `daybook.pins.${JSON.stringify([instanceId, environment])}`;
}

/** Reads what is kept. What is no pin is left out, for other programs may write there, too. */
export function parsePins(text: string | null): readonly Pin[] {
  let kept: unknown;
  try {
    kept = JSON.parse(text ?? "[]");
  } catch {
    return [];
  }
  return Array.isArray(kept) ? kept.filter(isPin).map(pinOf).slice(0, PINS_MAX) : [];
}

function pinOf({ public_key, pinned_at, from }: Pin): Pin {
  return { public_key, pinned_at, ...(from === "server" && { from }) };
}

function isPin(value: unknown): value is Pin {
  const { public_key, pinned_at } = (value ?? {}) as Partial<Pin>;
  return typeof public_key === "string" && PUBLIC_KEY.test(public_key) &&
    typeof pinned_at === "string";
}

/**
 * A key that is pinned already keeps its date. One that was pinned from the server, and now comes
 * from elsewhere, is no longer marked. With too many, the oldest is forgotten.
 */
export function addPin(
  pins: readonly Pin[],
  { public_key, from }: Pick<Pin, "public_key" | "from">,
  now: string,
): readonly Pin[] {
  if (!pins.some((pin) => pin.public_key === public_key)) {
    return [...pins, pinOf({ public_key, pinned_at: now, from })].slice(-PINS_MAX);
  }
  if (from === "server") return pins;
  return pins.map((pin) => pin.public_key === public_key ? pinOf({ ...pin, from }) : pin);
}

export function removePin(pins: readonly Pin[], publicKey: string): readonly Pin[] {
  return pins.filter(({ public_key }) => public_key !== publicKey);
}

/** The key in what somebody has typed or pasted; undefined if it is none. */
export function publicKeyIn(text: string): string | undefined {
  const key = text.trim().toLowerCase();
  return PUBLIC_KEY.test(key) ? key : undefined;
}
