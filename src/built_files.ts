/**
 * Built files as the server reads them: those of the console, which `deno task console` writes, and
 * those of the documentation, which `deno task docs` writes. `src/http/platform/built_sites.ts`
 * sends them.
 */

import { parseJson } from "./domain/json_text/parse_json.ts";
import { TextMap } from "./domain/lookup/text_map.ts";

/** Describes the files; beside it, `<name>.br` has the bytes of each with brotli. */
export const BUILT_MANIFEST = "manifest.json";

export interface BuiltManifest {
  /** A hash of the sources that it was built from. */
  readonly sources: string;
  readonly files: Readonly<Record<string, { readonly type: string; readonly hash: string }>>;
}

export interface BuiltFile {
  /** The media type. */
  readonly type: string;
  /** SHA-256 of the bytes, in hex. */
  readonly hash: string;
  readonly brotli: Uint8Array<ArrayBuffer>;
}

/** Built files by name. Undefined where nothing was built. */
export type ReadBuilt = () => Promise<ReadonlyMap<string, BuiltFile> | undefined>;

/** Reads the files of `folder` when they are first asked for, and keeps them. */
export function builtReader(folder: string): ReadBuilt {
  let reading: ReturnType<ReadBuilt> | undefined;
  return async () => {
    const files = await (reading ??= readFiles(folder));
    // It may be built while the server runs.
    if (files === undefined) reading = undefined;
    return files;
  };
}

async function readFiles(folder: string): Promise<ReadonlyMap<string, BuiltFile> | undefined> {
  try {
    const manifest = await Deno.readTextFile(`${folder}/${BUILT_MANIFEST}`);
    const { files } = parseJson(manifest) as BuiltManifest;
    const read = new TextMap<BuiltFile>();
    for (const [name, { type, hash }] of Object.entries(files)) {
      read.set(name, { type, hash, brotli: await Deno.readFile(`${folder}/${name}.br`) });
    }
    return read;
  } catch {
    return undefined;
  }
}
