/**
 * Ids and names of another system as ours: an id that is none of our kinds becomes the version 5
 * UUID of the old one, a name becomes lower case with underscores. Pure.
 */

import { createHash } from "node:crypto";
import { GLOBAL_SINGLETON, parseIdentifier } from "../identifier.ts";
import { isTypeName } from "../type_name.ts";
import type { Texts } from "../lookup/text_map.ts";

/** The namespace of all ids that are made here, unless a map names another one. */
export const MIGRATION_NAMESPACE = "6f1c1a0e-5d0b-5c5e-9a53-3e0a4f1b7c21";

const UUID_BYTES = 16;
const NAME_CHARACTERS_MAX = 64;

/** The UUID of version 5 for a name in a namespace (RFC 9562, 5.5). */
export function uuidOfName(namespace: string, name: string): string {
  const hash = createHash("sha1").update(Uint8Array.fromHex(namespace.replaceAll("-", "")))
    .update(name).digest();
  const bytes = hash.subarray(0, UUID_BYTES);
  bytes[6] = (bytes[6]! & 0x0f) | 0x50;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20)].join("-");
}

const NAME_DIGITS = 16;

/** The name of the imports of a file: the same for the same source, size and first bytes. */
export function importNameOf(source: string, bytes: number, head: Uint8Array): string {
  const digest = createHash("sha256").update(`${source} ${bytes} `).update(head).digest("hex");
  return `migrate-${digest.slice(0, NAME_DIGITS)}`;
}

export interface IdMapper {
  /** The id here of an id there; the same for the same text, everywhere. */
  idOf(old: string): string;
}

/** How many ids are remembered, because most events of a file belong to streams just seen. */
const KNOWN_MAX = 20_000;

/**
 * An id is kept if it is one of ours already, in its canonical spelling or as a UUID in capital
 * letters. Every other text becomes a UUID, so that two ids that differ never become one. No id at
 * all is `global`.
 */
export function createIdMapper(
  singletons: Texts,
  namespace = MIGRATION_NAMESPACE,
): IdMapper {
  const known = new Map<string, string>();

  function make(old: string): string {
    if (old === "") return GLOBAL_SINGLETON;
    const identifier = parseIdentifier(old, singletons);
    const isKept = identifier !== undefined &&
      (identifier.value === old || identifier.kind === "uuid");
    return isKept ? identifier.value : uuidOfName(namespace, old);
  }

  return {
    idOf(old) {
      const found = known.get(old);
      if (found !== undefined) return found;
      if (known.size >= KNOWN_MAX) known.clear();
      const id = make(old);
      known.set(old, id);
      return id;
    },
  };
}

/** `ShoppingCartOpened` and `shopping-cart-opened` as `shopping_cart_opened`. */
export function typeNameOf(name: string): string {
  const words = name.normalize("NFKD").replace(/\p{M}/gu, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2").replace(/([A-Z]+)([A-Z][a-z])/g, "$1_$2")
    .toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_+|_+$/g, "");
  const begun = /^[a-z]/.test(words) ? words : `x_${words}`.replace(/_$/, "");
  const text = begun.slice(0, NAME_CHARACTERS_MAX);
  return isTypeName(text) ? text : "x";
}

/** `Shop.Events.OrderPlaced, Shop` and `io.shop.order-placed` without what is in front. */
function shortName(name: string): string {
  const [own = name] = name.split(",");
  return own.split(/[.:/+]/).findLast((part) => part !== "") ?? name;
}

/**
 * A name here for each name there, all different, in the order of the names; with `isShort`
 * without what is in front of their last part, where that is enough.
 */
export function distinctNames(
  names: readonly string[],
  isShort: boolean,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const taken = new Set<string>();
  const shorts = names.map((name) => typeNameOf(isShort ? shortName(name) : name));
  for (const [at, name] of names.entries()) {
    const isShared = shorts.filter((each) => each === shorts[at]).length > 1;
    let free = isShared ? typeNameOf(name) : shorts[at]!;
    for (let number = 2; taken.has(free); number++) {
      const end = `_${number}`;
      free = free.replace(/_\d+$/, "").slice(0, NAME_CHARACTERS_MAX - end.length) + end;
    }
    taken.add(free);
    found.set(name, free);
  }
  return found;
}
