/**
 * Registers the tests of several files as if they were one file.
 *
 *   deno test -A tests/support/one_isolate.ts -- tests/end_to_end tests/store
 *
 * `deno test` gives each file its own isolate, but only one isolate of a process may load
 * FoundationDB's client. The paths are read by `test_files.ts`.
 */

import { testFilesOf } from "./test_files.ts";

for (const file of await testFilesOf(Deno.args)) {
  await import(new URL(`../../${file}`, import.meta.url).href);
}
