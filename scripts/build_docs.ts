/**
 * `deno task docs`: builds the documentation into `dist/docs`, for the server. With `--out FOLDER`
 * it writes the same site for any server of files. With `--if-changed`, as `deno task start` calls
 * it, it builds only if the documents have changed; a fault is then told, and the server starts
 * without the documentation.
 */

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { areDocsCurrent, buildDocs, publishDocs } from "./docs/build_site.ts";

const FOLDER = "dist/docs";

if (import.meta.main) {
  const isOptional = Deno.args.includes("--if-changed");
  const at = Deno.args.indexOf("--out");
  try {
    if (at >= 0) await publish(Deno.args[at + 1]);
    else if (!isOptional || !await areDocsCurrent(FOLDER)) await buildDocs(FOLDER);
  } catch (error) {
    console.error(`The documentation could not be built: ${(error as Error).message}`);
    if (!isOptional) Deno.exit(1);
  }
}

async function publish(folder: string | undefined): Promise<void> {
  if (folder === undefined) throw new Error("--out needs a folder");
  await publishDocs(pathToFileURL(`${resolve(folder)}/`));
  console.log(`the site is in ${folder}`);
}
