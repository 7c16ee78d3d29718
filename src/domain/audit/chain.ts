/** One stream's hash chain: each event commits to all before it. Spec: "Event chain hash". */

import { hash } from "node:crypto";
import { hashText, hashTexts } from "../sha256.ts";

/** 64 lowercase hex characters. */
export type ChainHash = string;

/**
 * The chain hash after `raw`. `previous` is undefined for the first event. The previous link
 * enters as its 64 ASCII characters, not as 32 bytes; `raw` enters as UTF-8.
 */
export function extendChain(previous: ChainHash | undefined, raw: string): ChainHash {
  return hash("sha256", linkText(previous, raw), "hex");
}

/** The same for an event that is alone, which costs less by itself and more in a row of them. */
export function extendChainOnce(previous: ChainHash | undefined, raw: string): ChainHash {
  return hashText(linkText(previous, raw));
}

/** An event that comes behind another one, or is the first. */
export interface ChainLink {
  readonly previous: ChainHash | undefined;
  readonly raw: string;
}

/** The same for events of different streams, which together cost half of what each does alone. */
export function extendChains(links: readonly ChainLink[]): ChainHash[] {
  return hashTexts(links.map(({ previous, raw }) => linkText(previous, raw)));
}

function linkText(previous: ChainHash | undefined, raw: string): string {
  return previous === undefined ? raw : previous + raw;
}
