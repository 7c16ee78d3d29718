/**
 * Emmett on SQLite, from the folder into which npm has installed it, because it has compiled
 * code.
 *
 * The store opens the file for each call, keeps it in one variable for all calls, and closes it
 * afterwards; so the calls are made one after the other. SQLite's default, synchronous = FULL,
 * makes them durable.
 */

import { createRequire } from "node:module";
import type { Connection, PeerStore } from "../peer_store.ts";
import { wrapEmmett } from "./emmett.ts";

export function openStore({ folder, file }: Connection): PeerStore {
  const require = createRequire(`file://${folder}/package.json`);
  const { getSQLiteEventStore, sqliteConnection } = require("@event-driven-io/emmett-sqlite");
  const store = getSQLiteEventStore({ fileName: file });
  const names = sqliteConnection({ fileName: file });
  let last: Promise<unknown> = Promise.resolve();

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const own = last.then(work, work);
    last = own.catch(() => {});
    return own;
  }

  const list: Required<PeerStore>["list"] = (prefix, after, limit) =>
    inTurn(async () => {
      const text = `SELECT DISTINCT stream_id FROM emt_streams
        WHERE stream_id LIKE ? AND stream_id > ? ORDER BY stream_id LIMIT ?`;
      const rows = await names.query(text, [`${prefix}%`, after, limit]);
      return rows.map(({ stream_id }: { stream_id: string }) => stream_id);
    });
  const { append, read } = wrapEmmett(store, list, () => Promise.resolve());
  return {
    append: (stream, events) => inTurn(() => append(stream, events)),
    read: (stream) => inTurn(() => read(stream)),
    list,
    close: () => inTurn(() => Promise.resolve(names.close())),
  };
}
