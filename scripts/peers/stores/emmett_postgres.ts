/** Emmett on PostgreSQL, opened as its documentation says. */

import type { Connection, PeerStore } from "../peer_store.ts";
import { loadPackage } from "../packages.ts";
import { wrapEmmett } from "./emmett.ts";
import { openPool, prepared } from "./postgres_client.ts";

export async function openStore(connection: Connection): Promise<PeerStore> {
  const { getPostgreSQLEventStore } = await loadPackage("@event-driven-io/emmett-postgresql");
  const store = getPostgreSQLEventStore(connection.url);
  await store.schema.migrate();
  const pool = await openPool(connection);
  const list: Required<PeerStore>["list"] = async (prefix, after, limit) => {
    const text = `SELECT DISTINCT stream_id FROM emt_streams
      WHERE stream_id LIKE $1 AND stream_id > $2 ORDER BY stream_id LIMIT $3`;
    const { rows } = await pool.query(prepared("list", text, [`${prefix}%`, after, limit]));
    return rows.map(({ stream_id }) => stream_id);
  };
  return wrapEmmett(store, list, async () => {
    await store.close();
    await pool.end();
  });
}
