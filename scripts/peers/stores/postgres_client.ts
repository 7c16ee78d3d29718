/** The part that stores on PostgreSQL share: a pool of clients, and transactions on one of them. */

import type { Connection } from "../peer_store.ts";
import { loadPackage, POOL_SIZE } from "../packages.ts";

export interface Rows {
  // deno-lint-ignore no-explicit-any -- whatever the query selects
  readonly rows: readonly any[];
}

export interface PostgresClient {
  query(text: string | { name: string; text: string; values: unknown[] }): Promise<Rows>;
}

export interface PostgresPool extends PostgresClient {
  /** Runs `work` between BEGIN and COMMIT. */
  transact<T>(work: (client: PostgresClient) => Promise<T>): Promise<T>;
  end(): Promise<void>;
}

export async function openPool({ url }: Connection): Promise<PostgresPool> {
  const { default: pg } = await loadPackage("pg");
  const pool = new pg.Pool({ connectionString: url, max: POOL_SIZE });
  return {
    query: (text) => pool.query(text),
    async transact(work) {
      const client = await pool.connect();
      try {
        await client.query("BEGIN");
        const result = await work(client);
        await client.query("COMMIT");
        return result;
      } catch (error) {
        await client.query("ROLLBACK");
        throw error;
      } finally {
        client.release();
      }
    },
    end: () => pool.end(),
  };
}

/** A query that is prepared once on each client. */
export function prepared(name: string, text: string, values: unknown[]) {
  return { name, text, values };
}
