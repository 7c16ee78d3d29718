/**
 * Registers the tests of several files as if they were one:
 *
 *   deno test -A tests/support/one_isolate.ts -- tests/end_to_end tests/access_test.ts
 *
 * `deno test` gives each file an isolate, but one isolate of a process may load FoundationDB's
 * client. The paths are those of `test_files.ts`.
 */

import { testFilesOf } from "./test_files.ts";

for (const file of await testFilesOf(Deno.args)) {
  await import(new URL(`../../${file}`, import.meta.url).href);
}
