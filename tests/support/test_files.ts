/** Finds the test files that a list of paths stands for. */

const ROOT = new URL("../../", import.meta.url);

/**
 * Returns file names relative to the root. A folder stands for all test files below it; `!`
 * before a file or folder excludes it, wherever it is in the list.
 */
export async function testFilesOf(paths: readonly string[]): Promise<string[]> {
  const leftOut = paths.filter((path) => path.startsWith("!")).map((path) => path.slice(1));
  const wanted = paths.filter((path) => !path.startsWith("!"));
  const files = (await Promise.all(wanted.map(filesBelow))).flat();
  return files.filter((file) =>
    !leftOut.some((place) => file === place || file.startsWith(`${place}/`))
  );
}

async function filesBelow(path: string): Promise<string[]> {
  if (path.endsWith(".ts")) return [path];
  const files: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(path, ROOT))) {
    if (isDirectory) files.push(...await filesBelow(`${path}/${name}`));
    else if (name.endsWith("_test.ts")) files.push(`${path}/${name}`);
  }
  return files.sort();
}
