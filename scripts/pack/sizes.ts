/** The size of each entry point as a browser loads it, and how large it may be. */

import { Buffer } from "node:buffer";
import { brotliCompressSync } from "node:zlib";
import { minifiedEntry } from "./bundle_entries.ts";

/** Bytes, minified and compressed with brotli, with everything that the entry point imports. */
export const BYTES_MAX: Readonly<Record<string, number>> = {
  "core/mod.ts": 8_000,
  "webhooks/mod.ts": 1_500,
  "verify/mod.ts": 12_000,
};

export async function compressedBytes(entry: string): Promise<number> {
  return brotliCompressSync(Buffer.from(await minifiedEntry(entry))).length;
}
