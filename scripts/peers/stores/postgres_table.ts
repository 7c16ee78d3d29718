/** PostgreSQL alone: one table, unique by stream and version; a writer that loses tries again. */

import type { Connection, PeerEvent, PeerStore } from "../peer_store.ts";
import { openPool, type PostgresClient, prepared } from "./postgres_client.ts";

const TABLE = `CREATE TABLE IF NOT EXISTS events (
  stream text NOT NULL, version bigint NOT NULL, type text NOT NULL,
  data jsonb NOT NULL, metadata jsonb NOT NULL, PRIMARY KEY (stream, version))`;
const APPEND = `INSERT INTO events
  SELECT $1, coalesce((SELECT max(version) FROM events WHERE stream = $1), -1) + place,
    type, data::jsonb, metadata::jsonb
  FROM unnest($2::text[], $3::text[], $4::text[])
  WITH ORDINALITY AS written (type, data, metadata, place)
  RETURNING version`;
const UNIQUE_VIOLATION = "23505";
const TRIES_MAX = 10_000;

async function insert(client: PostgresClient, stream: string, events: readonly PeerEvent[]) {
  const { rows } = await client.query(prepared("append", APPEND, [
    stream,
    events.map(({ type }) => type),
    events.map(({ data }) => JSON.stringify(data)),
    events.map(({ metadata }) => JSON.stringify(metadata)),
  ]));
  return Number(rows[0].version);
}

async function untilUnique<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
    try {
      return await work();
    } catch (error) {
      if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error;
    }
  }
  throw new Error(`another writer was first ${TRIES_MAX} times`);
}

export async function openStore(connection: Connection): Promise<PeerStore> {
  const pool = await openPool(connection);
  await pool.query(TABLE);
  return {
    append: (stream, events) => untilUnique(() => insert(pool, stream, events)),
    appendToMany: (targets) =>
      untilUnique(() =>
        pool.transact(async (client) => {
          for (const { stream, events } of targets) await insert(client, stream, events);
        })
      ),
    async read(stream) {
      const text = "SELECT data FROM events WHERE stream = $1 ORDER BY version";
      return (await pool.query(prepared("read", text, [stream]))).rows.map(({ data }) => data);
    },
    async list(prefix, after, limit) {
      const text = `SELECT DISTINCT stream FROM events
        WHERE stream LIKE $1 AND stream > $2 ORDER BY stream LIMIT $3`;
      const { rows } = await pool.query(prepared("list", text, [`${prefix}%`, after, limit]));
      return rows.map(({ stream }) => stream);
    },
    close: () => pool.end(),
  };
}
