/**
 * The hash chain of a stream: each event commits to all events before it.
 *
 * See docs/reference/audit.md.
 */

import { hash } from "node:crypto";
import { hashText, hashTexts } from "../sha256/sha256.ts";

/** 64 lowercase hex characters. */
export type ChainHash = string;

/**
 * The chain hash after `raw`. `previous` is undefined for the first event. The previous hash
 * enters as its 64 ASCII characters, not as 32 bytes; `raw` enters as UTF-8.
 */
export function extendChain(previous: ChainHash | undefined, raw: string): ChainHash {
  return hash("sha256", linkText(previous, raw), "hex");
}

/** The same hash. Cheaper for a single event, but dearer for several events in a row. */
export function extendChainOnce(previous: ChainHash | undefined, raw: string): ChainHash {
  return hashText(linkText(previous, raw));
}

/** An event and the chain hash before it; `previous` is undefined for a stream's first event. */
export interface ChainLink {
  readonly previous: ChainHash | undefined;
  readonly raw: string;
}

/**
 * The same for events of different streams. Hashing them together is much cheaper than one by
 * one.
 */
export function extendChains(links: readonly ChainLink[]): ChainHash[] {
  return hashTexts(links.map(({ previous, raw }) => linkText(previous, raw)));
}

function linkText(previous: ChainHash | undefined, raw: string): string {
  return previous === undefined ? raw : previous + raw;
}
