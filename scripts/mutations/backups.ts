/** Bugs in backups and the archive of the embedded store, and in what brings them back. */

import { changesOf, type Mutation } from "./mutation.ts";

const READ_ARCHIVE = "tests/archive/read_archive_test.ts";
const KEEP_ARCHIVE = "tests/archive/keep_archive_test.ts";
const BACKUP = "tests/kv/sqlite/backup/backup_test.ts";

export const BACKUP_MUTATIONS: readonly Mutation[] = [
  ...changesOf("src/kv/sqlite/checkpoint_worker.ts", BACKUP, [
    [
      "a backup lacks the pages that were moved while it was taken",
      `if (typeof moved !== "string") moved.add(page);`,
      "",
    ],
    [
      "another program may begin the log anew while a backup is taken",
      "      isHolding = true;\n",
      "",
    ],
    [
      "another program may move pages unnoticed after the first pass of a backup",
      "if (isHolding) hold();",
      "",
    ],
  ]),
  ...changesOf("src/kv/sqlite/backup/backup_store.ts", BACKUP, [
    [
      "pages are moved while the last of a backup are put aside",
      "await copier.spool(sealed);\n      checkpoints.resume();",
      "checkpoints.resume();\n      await copier.spool(sealed);",
    ],
  ]),
  ...changesOf("src/kv/sqlite/backup/copy_worker.ts", BACKUP, [
    ["a backup takes a damaged page along", "if (sum !== expected) wrong.push(page);", ""],
  ]),
  ...changesOf("src/kv/sqlite/backup/restore_store.ts", BACKUP, [
    [
      "a restored store counts on from the version of its backup",
      "const version = Math.max(readMoment().version + 1, versionMin);",
      "const version = readMoment().version + Math.min(1, versionMin);",
    ],
    [
      "a restored store may lack pages",
      'throw new Error("Pages of the store are missing");',
      "void written;",
    ],
    [
      "a restored store lacks what could not be moved when it was closed",
      "refuseUnclosed(made);",
      "",
    ],
    [
      "a restore that was killed cannot be made again",
      "if (isTriedAgain) removeIfThere(pageSumsPath(path));\n  else refuseUsed(folder);",
      "refuseUsed(folder);",
    ],
  ]),
  ...changesOf("src/archive/archive_files.ts", READ_ARCHIVE, [
    [
      "commits behind a gap count as restorable",
      "if (commit.version !== last + 1) return;",
      "",
    ],
  ]),
  ...changesOf("src/archive/read_archive.ts", READ_ARCHIVE, [
    [
      "a moment whose commits are missing is restored as the one before",
      "if (!isKnown) throw",
      "if (!isKnown && atMs < 0) throw",
    ],
    [
      "a restore has the commit after its moment",
      "    if (isPassed) break;\n    ({ version, timeMs } = commit);",
      "    ({ version, timeMs } = commit);\n    if (isPassed) break;",
    ],
  ]),
  ...changesOf("src/archive/archive_files.ts", "tests/archive/archive_files_test.ts", [
    [
      "a damaged commit of the archive is taken",
      "if (crc32(record.subarray(CHECKED_FROM)) !== head.getUint32(4, true)) return end(true);",
      "",
    ],
  ]),
  ...changesOf("src/archive/keep_archive.ts", KEEP_ARCHIVE, [
    [
      "commits that a killed process could not archive are no gap",
      "if (last !== version) missing = Math.max(missing, version);",
      "",
    ],
    [
      "a log that was removed counts as archived",
      "    await refuseGone(open);\n",
      "",
    ],
    [
      "a clock that is put back puts full backups off",
      "if (fullAtMs !== undefined) fullAtMs = Math.min(fullAtMs, host.nowMs());",
      "",
    ],
    [
      "what waits for the disk of the archive has no bound",
      "if (waiting.bytes() > WAITING_BYTES_MAX) {",
      "if (waiting.bytes() > 1_000 * WAITING_BYTES_MAX) {",
    ],
    [
      "a closing archive leaves out what waits",
      "      write();\n      await writing;\n      await backingUp;",
      "      await backingUp;",
    ],
    [
      "the archive removes a full backup that the kept days need",
      "timeMs <= limitMs",
      "timeMs <= limitMs + MS_PER_DAY",
    ],
  ]),
  ...changesOf("src/kv/sqlite/file.ts", KEEP_ARCHIVE, [
    [
      "the archive is told of commits without their cleared ranges",
      "into.push({ clearedRange: { begin: bytesOf(begin), end: bytesOf(end) } });",
      "",
    ],
  ]),
];
