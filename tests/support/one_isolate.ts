/**
 * Registers the tests of several files as if they were one:
 *
 *   deno test -A tests/support/one_isolate.ts -- tests/end_to_end tests/access_test.ts
 *
 * `deno test` gives each file an isolate, but one isolate of a process may load FoundationDB's
 * client. A folder stands for all test files below it; `!` before a path leaves it out.
 */

const ROOT = new URL("../../", import.meta.url);

async function testFilesOf(path: string): Promise<string[]> {
  if (path.endsWith(".ts")) return [path];
  const files: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(path, ROOT))) {
    if (isDirectory) files.push(...await testFilesOf(`${path}/${name}`));
    else if (name.endsWith("_test.ts")) files.push(`${path}/${name}`);
  }
  return files.sort();
}

const leftOut = Deno.args.filter((path) => path.startsWith("!")).map((path) => path.slice(1));
for (const path of Deno.args.filter((path) => !path.startsWith("!"))) {
  for (const file of await testFilesOf(path)) {
    if (leftOut.some((place) => file === place || file.startsWith(`${place}/`))) continue;
    await import(new URL(file, ROOT).href);
  }
}
