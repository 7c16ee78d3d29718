/** message-db: its own functions on PostgreSQL, called as its documentation says. */

import type { Connection, PeerEvent, PeerStore } from "../peer_store.ts";
import { openPool, type PostgresClient, prepared } from "./postgres_client.ts";

const WRITE_ALL = `SELECT message_store.write_message(id, $1, type, data::jsonb, metadata::jsonb)
  AS position FROM unnest($2::varchar[], $3::varchar[], $4::text[], $5::text[])
  AS written (id, type, data, metadata)`;

async function write(client: PostgresClient, stream: string, events: readonly PeerEvent[]) {
  const ids = events.map(() => crypto.randomUUID());
  const { rows } = await client.query(prepared("write", WRITE_ALL, [
    stream,
    ids,
    events.map(({ type }) => type),
    events.map(({ data }) => JSON.stringify(data)),
    events.map(({ metadata }) => JSON.stringify(metadata)),
  ]));
  return Number(rows[0].position);
}

export async function openStore(connection: Connection): Promise<PeerStore> {
  const pool = await openPool(connection);
  return {
    // A single statement is a transaction.
    append: (stream, events) => write(pool, stream, events),
    appendToMany: (targets) =>
      pool.transact(async (client) => {
        for (const { stream, events } of targets) await write(client, stream, events);
      }),
    async read(stream) {
      const text = "SELECT data FROM message_store.get_stream_messages($1, 0, -1)";
      const { rows } = await pool.query(prepared("read", text, [stream]));
      return rows.map(({ data }) => JSON.parse(data));
    },
    async list(prefix, after, limit) {
      const text = `SELECT DISTINCT stream_name FROM message_store.messages
        WHERE stream_name LIKE $1 AND stream_name > $2 ORDER BY stream_name LIMIT $3`;
      const { rows } = await pool.query(prepared("list", text, [`${prefix}%`, after, limit]));
      return rows.map(({ stream_name }) => stream_name);
    },
    close: () => pool.end(),
  };
}
