/**
 * `deno task pack [FOLDER]`: writes the npm package of the client into a folder, `dist/client` if
 * none is named, and prints the sizes of its entry points. Exits with 1 if one is too large.
 */

import { buildPackage } from "./pack/build_package.ts";
import { BYTES_MAX, compressedBytes } from "./pack/sizes.ts";

export async function writePackage(folder: string): Promise<void> {
  await Deno.remove(folder, { recursive: true }).catch(() => undefined);
  for (const [path, text] of await buildPackage()) {
    const file = `${folder}/${path}`;
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(file, text);
  }
}

if (import.meta.main) {
  const folder = Deno.args[0] ?? "dist/client";
  await writePackage(folder);
  console.log(`the package is in ${folder}: npm pack ./${folder}`);
  let isTooLarge = false;
  for (const [entry, most] of Object.entries(BYTES_MAX)) {
    const bytes = await compressedBytes(entry);
    isTooLarge ||= bytes > most;
    console.log(`${entry}: ${bytes} bytes with brotli, at most ${most}`);
  }
  if (isTooLarge) Deno.exit(1);
}
