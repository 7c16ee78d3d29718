/** The names of the engines, and what each can do as far as they differ. */

import type { Capabilities } from "./engine.ts";

export const STORE_NAMES = ["sqlite", "foundationdb"] as const;
export type StoreName = typeof STORE_NAMES[number];

/** Known without an open store: a command may have to know before it opens one. */
export const CAPABILITIES: Readonly<Record<StoreName, Capabilities>> = {
  sqlite: { isShared: false },
  foundationdb: { isShared: true },
};
