/**
 * The built console as the server reads it: `deno task console` writes these files, and
 * `src/http/platform/console.ts` sends them.
 */

/** Describes the files; beside each, `<name>.br` has the same bytes with brotli. */
export const CONSOLE_MANIFEST = "manifest.json";

export interface ConsoleManifest {
  /** A hash of the sources that it was built from. */
  readonly sources: string;
  readonly files: Readonly<Record<string, { readonly type: string; readonly hash: string }>>;
}

export interface ConsoleFile {
  /** The media type. */
  readonly type: string;
  /** SHA-256 of the bytes, in hex. */
  readonly hash: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly brotli: Uint8Array<ArrayBuffer>;
}

/** The built console: its files by name. Undefined where it was not built. */
export type ReadConsole = () => Promise<ReadonlyMap<string, ConsoleFile> | undefined>;

/** Reads the files of `folder` when they are first asked for, and keeps them. */
export function consoleReader(folder: string): ReadConsole {
  let reading: ReturnType<ReadConsole> | undefined;
  return async () => {
    const files = await (reading ??= readFiles(folder));
    // It may be built while the server runs.
    if (files === undefined) reading = undefined;
    return files;
  };
}

async function readFiles(folder: string): Promise<ReadonlyMap<string, ConsoleFile> | undefined> {
  try {
    const manifest = await Deno.readTextFile(`${folder}/${CONSOLE_MANIFEST}`);
    const { files } = JSON.parse(manifest) as ConsoleManifest;
    const read = new Map<string, ConsoleFile>();
    for (const [name, { type, hash }] of Object.entries(files)) {
      const bytes = await Deno.readFile(`${folder}/${name}`);
      const brotli = await Deno.readFile(`${folder}/${name}.br`);
      read.set(name, { type, hash, bytes, brotli });
    }
    return read;
  } catch {
    return undefined;
  }
}
