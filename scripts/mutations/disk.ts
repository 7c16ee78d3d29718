/** Bugs in what keeps acknowledged commits on the disk: the logs, the checkpoints, the files. */

import { changesOf, type Mutation } from "./mutation.ts";

const REDO_LOG = "tests/kv/sqlite/redo_log_test.ts";
const WRITER = "tests/kv/sqlite/writer_test.ts";
const DURABILITY = "tests/kv/sqlite/durability_test.ts";
const COMMIT_GROUP = "tests/kv/sqlite/commit_group_test.ts";
const CHECKPOINTS = "tests/kv/sqlite/checkpoints_test.ts";
const SYNCED_FILES = "tests/kv/sqlite/synced_files_test.ts";
const MOVED_ROW = "tests/kv/sqlite/moved_row_test.ts";
const SYNCED_FOLDER = "tests/kv/sqlite/synced_folder_test.ts";

export const DISK_MUTATIONS: readonly Mutation[] = [
  ...changesOf("src/kv/sqlite/redo_log.ts", REDO_LOG, [
    [
      "the place behind a torn record is kept after a write error",
      "moveTo(log.bytes);\n        throw error;",
      "throw error;",
    ],
    [
      "no folder sync for a new redo file",
      "    }\n    syncFolder(dirname(storePath));\n  } catch",
      "    }\n  } catch",
      SYNCED_FILES,
    ],
    [
      "the head of a new redo file is not synced",
      "writeAll(file, head);\n      file.syncDataSync();",
      "writeAll(file, head);",
      SYNCED_FILES,
    ],
    [
      "a record that is taken back stays in its file",
      "log.file.truncateSync(FILE_HEAD_BYTES + last);\n",
      "",
    ],
    [
      "a record that is taken back may stay on the disk",
      "truncateSync(FILE_HEAD_BYTES + last);\n      log.file.syncDataSync();",
      "truncateSync(FILE_HEAD_BYTES + last);",
      SYNCED_FILES,
    ],
    [
      "the record behind one that was taken back leaves a gap",
      "log.file.syncDataSync();\n      moveTo(last);",
      "log.file.syncDataSync();\n      log.bytes = last;",
    ],
    [
      "at a turn the same file is written over",
      "log.file = log.file === first ? second : first;\n",
      "",
    ],
    ["a file is free at every turn", "log.turns++;\n", "released = ++log.turns;\n"],
    ["a file is free one turn too early", "released === log.turns;", "released >= log.turns - 1;"],
    [
      "a later sync takes a release back",
      "void (released = Math.max(released, known))",
      "void (released = known)",
    ],
    [
      "what a log had may stay on the disk after it was emptied",
      "file.truncateSync(FILE_HEAD_BYTES);\n        file.syncDataSync();",
      "file.truncateSync(FILE_HEAD_BYTES);",
      SYNCED_FILES,
    ],
    [
      "only one file of a log is emptied",
      "for (const file of files) {\n        file.truncateSync(FILE_HEAD_BYTES);",
      "for (const file of files.slice(0, 1)) {\n        file.truncateSync(FILE_HEAD_BYTES);",
    ],
  ]),
  ...changesOf("src/kv/sqlite/left_redo_log.ts", REDO_LOG, [
    [
      "the first commit that only the log has is left out",
      ".filter((record) => record.version > version)",
      ".filter((record) => record.version > version + 1)",
    ],
    [
      "a start passes over what the redo log has noted",
      "if (gap < 0 && noted === undefined) return records;",
      "if (gap < 0) return records;",
      WRITER,
    ],
    [
      "commits of both files come back out of order",
      "    .sort((a, b) => a.version - b.version);\n  const records",
      "    .sort((a, b) => b.version - a.version);\n  const records",
    ],
    [
      "a gap between commits is no damage",
      "if (gap < 0 && noted === undefined) return records;",
      "if (gap < 1e9) return records;",
    ],
    [
      "the log of another store is taken",
      "if (isFileOf(id, file)) return file;",
      "if (file.length > 0) return file;",
    ],
    [
      "a log without a store is no fault",
      "if ((readIfThere(path)?.length ?? 0) === 0) continue;",
      "if ((readIfThere(path)?.length ?? 0) >= 0) continue;",
      "tests/kv/sqlite/upgrade_store_test.ts",
    ],
    [
      "a redo log that is newer than the store is overlooked by one commit",
      "if (record.version <= version) continue;",
      "if (record.version <= version + 1) continue;",
      WRITER,
    ],
  ]),
  ...changesOf("src/kv/sqlite/redo_log.ts", REDO_LOG, [
    [
      "a torn record is taken for a whole one",
      "crc32(bytes.subarray(at + VERSION_AT, end), seed) === bytes.readUInt32LE(at + SUM_AT)",
      "at >= 0",
    ],
    [
      "the version of a record is not in its checksum",
      "crc32(into.subarray(VERSION_AT, length), seed)",
      "crc32(into.subarray(REST_AT, length), seed)",
    ],
    [
      "whole records behind a bad one are not looked for",
      "at = isWhole ? end : at + 1;",
      "if (!isWhole) return;\n    at = end;",
    ],
    [
      "the last of several cleared keys is not in the record",
      "for (const key of cleared) {\n    view.setUint16(at",
      "for (const key of cleared.slice(0, -1)) {\n    view.setUint16(at",
    ],
    [
      "what was cleared does not come back with a record",
      "cleared.push(take(length));",
      "take(length);",
    ],
  ]),
  ...changesOf("src/kv/sqlite/writer.ts", WRITER, [
    [
      "the files turn although the other one is not free",
      "into!.bytes >= windowBytes && into!.isOtherFree",
      "into!.bytes >= windowBytes",
    ],
    [
      "a file is called free before SQLite's log is synced",
      "return syncLog(log.file).then(() => behind.release(turns));",
      "behind.release(turns);\n      return syncLog(log.file);",
    ],
    [
      "a start that finds commits only in the redo log syncs nothing",
      "        return true;\n      }\n      isLogNext = true;",
      "        return true;\n      }\n      isLogNext = false;",
      DURABILITY,
    ],
    [
      "a start counts what it finds only in the redo log as synced",
      "hasLeftLog: options.hasLeftLog || hasRecovered,",
      "hasLeftLog: options.hasLeftLog,",
      DURABILITY,
    ],
    [
      "a start does not sync what SQLite's log alone has",
      "let isLogNext = options.hasLeftLog;",
      "let isLogNext = false;",
      DURABILITY,
    ],
    [
      "unsynced commits are told to readers after a start on a full disk",
      "syncing = joinSyncs(syncing, syncFile(one, syncLog));",
      "void one;",
      DURABILITY,
    ],
    [
      "a commit that the redo log cannot tell is not synced",
      "log.endWriting();\n        isLogNext = true;\n      } else",
      "log.endWriting();\n      } else",
      DURABILITY,
    ],
    [
      "the sync of the redo log is not waited for",
      "isLogNext = false;\n    await redoing;",
      "isLogNext = false;",
      DURABILITY,
    ],
    [
      "the redo log is synced before the record is in it",
      "isAppended = into.append({ version, cleared, pairs }, sizes.recordBytesMax);\n        if (isAppended) syncing = joinSyncs(syncing, syncLog(into.file));",
      "syncing = joinSyncs(syncing, syncLog(into.file));\n        isAppended = into.append({ version, cleared, pairs }, sizes.recordBytesMax);",
      DURABILITY,
    ],
    [
      "the record of a commit that failed is not taken back",
      "if (wasAppended) redo!.takeBack();",
      "void wasAppended;",
    ],
    [
      "what is in no ended transaction goes with a commit that fails",
      "log.rollBack();\n      replay();",
      "log.rollBack();\n      log.beginReading();",
    ],
    [
      "a range that is cleared is not told by the redo log, and goes there",
      "const into = isBySingleKeys && redo !== undefined",
      "const into = redo !== undefined",
    ],
    [
      "after a start cleared keys are back",
      "for (const key of cleared) change.clear(key);\n  change.setAll",
      "change.setAll",
    ],
    [
      "the version does not come back with the commits",
      "setVersion.run(record.version);",
      "setVersion.run(record.version - 1);",
    ],
    [
      "a redo log that is newer than a closed store is overlooked",
      "if (name.read() === undefined) refuseNewerLog(path, readVersion());\n",
      "",
    ],
    [
      "SQLite's log is not synced before the redo log that had its commits is written over",
      "    log.file.syncDataSync();\n    return true;",
      "    return true;",
      SYNCED_FILES,
    ],
    [
      "a redo log is made anew while the store names the old one",
      "else if (!nameLog(null)) return;\n",
      "",
      SYNCED_FILES,
    ],
    [
      "after a kill within a close a redo log is written over before SQLite's log is synced",
      "if (name.read() === undefined) log.file.syncDataSync();\n    else if",
      "if (name.read() === undefined) void log;\n    else if",
      SYNCED_FILES,
    ],
    [
      "a sync of SQLite's log counts for what came there after it had begun",
      "const isAll = !log.isOpen;",
      "const isAll = true;",
    ],
    [
      "a redo log that begins anew does not note what the store has",
      "    redo.restart();\n    redo.noteBase(readVersion());",
      "    redo.restart();",
    ],
    [
      "a closed store names a redo log",
      "tryAll(() => name.write(null), log.endReading)",
      "tryAll(log.endReading)",
    ],
    [
      "the redo log keeps what was forgotten",
      "redo.empty();",
      "redo.restart();",
      CHECKPOINTS,
    ],
    ["a store that was given up stays locked", "tryAll(log.rollBack);", "", DURABILITY],
  ]),
  ...changesOf("src/kv/sqlite/checkpoints.ts", DURABILITY, [
    [
      "a redo log that cannot be emptied ends the process at once",
      "endEmptying(moved === frames && truncate());",
      "endEmptying(moved === frames && file.truncateLog());",
    ],
  ]),
  ...changesOf("src/kv/sqlite/wal.ts", CHECKPOINTS, [
    [
      "the length of the log is told without its newest pages",
      "return (countFrames.get() as { log: number }).log;",
      "return 0 * (countFrames.get() as { log: number }).log;",
    ],
  ]),
  ...changesOf("src/kv/sqlite/checkpoint_worker.ts", SYNCED_FILES, [
    [
      "checkpoints never sync the database",
      "    await file.syncData();\n  } catch",
      "    await noting;\n  } catch",
    ],
    [
      "a worker stays on synchronous = OFF after a finish",
      `      db.exec("PRAGMA synchronous = FULL");\n`,
      "",
    ],
    [
      "a database that was not synced counts as a pass that moved nothing",
      "return { unsynced: String(error) };",
      "return { failure: String(error) };",
    ],
  ]),
  ...changesOf("src/kv/sqlite/checkpoints.ts", CHECKPOINTS, [
    [
      "an unconfirmed database does not break the engine",
      `if ("unsynced" in answer) home.onBroken(answer.unsynced);`,
      "",
      SYNCED_FILES,
    ],
    [
      "a worker that dies in a finish does not break the engine",
      "if (isHeld) home.onBroken(cause);",
      "if (isHeld) void cause;",
    ],
    [
      "pages are moved of a log that may be lost",
      "isSynced ? start() : endPass(undefined)",
      "isSynced ? start() : start()",
    ],
    ["a close takes the pass that runs for ended", "if (isBusy) return false;", ""],
    [
      "a log counts as emptied that was not",
      "endEmptying(moved === frames && truncate())",
      "endEmptying(moved === frames)",
    ],
    [
      "what reads at old versions keeps the log from being emptied",
      "if (isWanted) home.giveUpOldVersions();",
      "",
    ],
    [
      "commits that waited for a pass wait for ever",
      "    home.onRelease();\n    if (isClosed)",
      "    if (isClosed)",
    ],
  ]),
  ...changesOf("src/kv/sqlite/file.ts", DURABILITY, [
    [
      "a store that was given up is closed, which moves and removes its logs",
      "writer.abandon();\n      LEFT_OPEN.push(db);",
      "writer.abandon();\n      db.close();",
    ],
    [
      "the name of a new store is not synced",
      "syncFolder(dirname(path));\n      if (pagesMax",
      "if (pagesMax",
      SYNCED_FILES,
    ],
    [
      "after a kill nobody syncs the pages that were moved",
      "if (hasLeftLog) file.syncDataSync();",
      "",
      SYNCED_FILES,
    ],
    [
      "logs of an earlier moment take the database back",
      "else refuseOrDrop(copy, () => refuseEarlierLog(db, path, moved));",
      "",
      MOVED_ROW,
    ],
    [
      "a copy of files that are refused stays",
      "if (copy?.isNew) removeIfThere(copy.folder);",
      "",
      "tests/kv/sqlite/upgrade_store_test.ts",
    ],
    [
      "what a commit that failed has set is read",
      "onRollback: recent.forgetAll,",
      "onRollback: () => {},",
      WRITER,
    ],
    [
      "a store that cannot be opened stays locked",
      "  } catch (error) {\n    lock.release();\n",
      "  } catch (error) {\n",
      "tests/kv/sqlite/engine_test.ts",
    ],
  ]),
  ...changesOf("src/kv/sqlite/engine.ts", DURABILITY, [
    [
      "a close ignores a broken store",
      "if (this.#broken !== undefined || !isAtRest)",
      "if (!isAtRest)",
    ],
    [
      "a close ignores an abandoned pass",
      "if (this.#broken !== undefined || !isAtRest)",
      "if (this.#broken !== undefined)",
    ],
    [
      "what a killed process left counts as durable",
      "this.#durableVersion = -1;",
      "",
    ],
    [
      "a read tells of a commit that is one newer than what is durable",
      "readsAt > this.#durableVersion;",
      "readsAt > this.#durableVersion + 1;",
    ],
    [
      "a transaction that only read tells of what is not durable",
      "if (this.#mayBeLost(tx.reading)) await this.#untilDurable();",
      "",
    ],
    [
      "a commit being synced is not known to those who read",
      "this.#home.unsynced = { version, written };",
      "",
    ],
    [
      "what waits for a sync that fails is told that it was written",
      "for (const one of [...accepted, ...this.#queue.splice(0)]) one.reject(this.#broken);\n      return;",
      "for (const one of this.#queue.splice(0)) one.reject(this.#broken);",
    ],
    [
      "a commit whose sync failed is tried again",
      "if (isSubmitted || !tx.isExpired) throw error;",
      "if (!tx.isExpired) throw error;",
    ],
    ["nobody who watches hears of a commit", "this.#watches.notify(written);", ""],
    [
      "nothing is told to be lost where commits could not be brought back",
      "if (cause instanceof CommitsLost) this.#break(cause);\n      failure",
      "failure",
      DURABILITY,
    ],
  ]),
  ...changesOf("src/kv/sqlite/transaction.ts", DURABILITY, [
    [
      "a version that is not on disk is told",
      "if (this.#unseen() !== undefined) this.seesUnsynced = true;",
      "",
    ],
    [
      "a key that is not on disk is told",
      "this.seesUnsynced = written === undefined || isKeyWritten(written, key, hash);",
      "this.seesUnsynced = written === undefined;",
    ],
    [
      "a range that is not on disk is told",
      "this.seesUnsynced = written === undefined || isRangeWritten(written, range);",
      "this.seesUnsynced = written === undefined;",
    ],
    [
      "what was seen of an unsynced commit is forgotten with the next read",
      "if (this.seesUnsynced) return undefined;",
      "",
    ],
    [
      "what a killed process left is told where nobody knows what it is",
      "written === undefined || isKeyWritten",
      "written !== undefined && isKeyWritten",
    ],
  ]),
  ...changesOf("src/kv/sqlite/commit_group.ts", COMMIT_GROUP, [
    ["a group has no limit in weight", "weight + one.weight > weightMax", "false"],
    [
      "a group of several owners is as large as of one",
      "? SHARED_WEIGHT_MAX",
      "? GROUP_WEIGHT_MAX",
    ],
    [
      "an owner is never the second one",
      "if (lastOwner !== undefined) sharedUntilMs = now + SHARED_MS;",
      "",
    ],
    ["bytes do not weigh", "+ Math.floor(bytes / BYTES_PER_WEIGHT)", ""],
    ["a large transaction goes with others", "!isLarge(one)", "true"],
    [
      "every group may be a large one",
      "isLargeNext = false;\n    return queue.splice(queue.findIndex",
      "return queue.splice(queue.findIndex",
    ],
    ["large ones never have their turn", "isLargeNext = queue.some(isLarge);", ""],
    ["owners do not take turns", "({ owner }) => owner", "() => 0"],
  ]),
  ...changesOf("src/kv/sqlite/synced_folder.ts", SYNCED_FOLDER, [
    ["a folder is not synced", "folder.syncSync();", ""],
    [
      "the name of a new folder is not synced",
      "syncFolder(dirname(full));",
      "syncFolder(full);",
    ],
    [
      "folders above a new one are not its owner's alone",
      "    makeFolder(dirname(full));\n",
      "    Deno.mkdirSync(dirname(full), { recursive: true });\n",
    ],
  ]),
  ...changesOf("src/kv/sqlite/lock.ts", "tests/kv/sqlite/engine_test.ts", [
    [
      "two processes share the lock of a store",
      "file.tryLockSync(true)",
      "file.tryLockSync(false)",
    ],
    ["a closed store stays locked", "release: () => file.close()", "release: () => void file"],
  ]),
];
