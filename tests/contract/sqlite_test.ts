/**
 * The embedded engine joins the contract. For what only it promises see
 * `tests/kv/sqlite/engine_test.ts`.
 */

import { join } from "node:path";
import { openSqliteEngine } from "../../src/kv/sqlite/engine.ts";
import { temporarySqlite } from "../support/temporary_engine.ts";
import { sqliteStores } from "../support/backup_stores.ts";
import { backupContract } from "./backup_contract.ts";
import { engineContract } from "./engine_contract.ts";

backupContract("sqlite", sqliteStores);

engineContract("sqlite", async () => {
  const { engine, directory, dispose } = await temporarySqlite();
  let current = engine;
  return {
    engine,
    async reopen() {
      await current.close();
      current = openSqliteEngine({ path: join(directory, "store.sqlite") });
      return current;
    },
    async dispose() {
      await current.close();
      await dispose();
    },
  };
});
