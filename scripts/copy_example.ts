/**
 * `deno task example FOLDER`: copies the example shop into a new folder, with the npm packages of
 * the client and of the program inside, so that the copy needs nothing of this repository.
 */

import { writePackage } from "./pack.ts";
import { copyTree, writeProgramPackage } from "./pack_program.ts";

const EXAMPLE = new URL("../examples/shop/", import.meta.url);
/** Where the packages are, seen from the copy. */
const VENDOR = "vendor";
/** What working on the example itself leaves behind. */
const LEFT_OUT: ReadonlySet<string> = new Set(["node_modules", "package-lock.json"]);

/** @throws {Error} if there is something in the folder, or npm fails. */
export async function copyExample(folder: string): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  if ((await Array.fromAsync(Deno.readDir(folder))).length > 0) {
    throw new Error(`${folder} is not empty: name a new folder`);
  }
  await copyTree(EXAMPLE, folder, LEFT_OUT);
  await Deno.mkdir(`${folder}/${VENDOR}`);
  await pack(writePackage, `${folder}/${VENDOR}/daybook-client.tgz`);
  await pack(writeProgramPackage, `${folder}/${VENDOR}/daybook.tgz`);
}

async function pack(write: (folder: string) => Promise<void>, path: string): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_package_" });
  try {
    await write(`${folder}/package`);
    const { success, stdout, stderr } = await new Deno.Command("npm", {
      args: ["pack", "--silent", "./package"],
      cwd: folder,
    }).output();
    if (!success) throw new Error(`npm pack failed: ${new TextDecoder().decode(stderr)}`);
    await Deno.copyFile(`${folder}/${new TextDecoder().decode(stdout).trim()}`, path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const [folder] = Deno.args;
  if (folder === undefined) {
    console.error("usage: deno task example FOLDER");
    Deno.exit(2);
  }
  try {
    await copyExample(folder);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    Deno.exit(1);
  }
  console.log(`The shop is in ${folder}. Its README.md says how to go on.`);
}
