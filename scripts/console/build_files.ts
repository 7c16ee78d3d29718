/** Builds the console: bundles its code and joins its styles. */

import { constants } from "node:zlib";
import {
  bundle,
  isSiteCurrent,
  pathsBelow,
  type SiteFiles,
  type SiteForm,
  writeSite,
} from "../sites/write_site.ts";
import { VERIFIER_STYLES, verifyFile } from "./verify_file.ts";

const ROOT = new URL("../../", import.meta.url);
const STATIC = "console/static";
const STYLES = "console/styles";
const FORM: SiteForm = {
  sources: [
    "console",
    "sdk/src",
    "src/domain",
    "scripts/console",
    "scripts/sites",
    "deno.json",
    "deno.lock",
  ],
  brotliQuality: constants.BROTLI_MAX_QUALITY,
  keepsPlain: true,
};

/** Builds into `folder`, which has either the old files or all new ones at any moment. */
export async function buildConsole(folder: string): Promise<void> {
  await writeSite(folder, await filesOf(), FORM);
}

/** Whether `folder` was built from the sources as they are. */
export function isConsoleCurrent(folder: string): Promise<boolean> {
  return isSiteCurrent(folder, FORM.sources);
}

async function filesOf(): Promise<SiteFiles> {
  const [found, verifier] = await Promise.all([
    bundle("console/src/main.tsx", ["--code-splitting"]),
    bundle("console/src/verifier/main.tsx"),
  ]);
  for (const path of await pathsBelow(STATIC)) {
    found.push([path.slice(STATIC.length + 1), await Deno.readFile(new URL(path, ROOT))]);
  }
  const encoder = new TextEncoder();
  found.push(["console.css", encoder.encode(await joined(await pathsBelow(STYLES)))]);
  const code = new TextDecoder().decode(verifier[0]![1]).trim();
  const styles = await joined(VERIFIER_STYLES.map((name) => `${STYLES}/${name}`));
  found.push(["verify.html", encoder.encode(await verifyFile(code, styles))]);
  return found.sort(([a], [b]) => a < b ? -1 : 1);
}

async function joined(paths: readonly string[]): Promise<string> {
  const texts = await Promise.all(paths.map((path) => Deno.readTextFile(new URL(path, ROOT))));
  return texts.join("\n");
}
