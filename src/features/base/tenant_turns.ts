/**
 * Turns of environments in a queue whose keys begin with the environment. In the order of the keys
 * all work of one would go before that of the next, and work that stays in the queue would be
 * found again and again.
 */

import type { ReadTransaction } from "../../kv/engine.ts";

export interface OfEnvironment {
  readonly tenant: number;
}

export interface TurnQueue<T extends OfEnvironment> {
  /** At most `limit` entries behind a place, in the order of their keys. */
  list(
    tx: ReadTransaction,
    behind: { readonly tenant: number; readonly name: string },
    limit: number,
  ): Promise<T[]>;
  /** What follows the environment in the key. */
  nameOf(entry: T): string;
}

/** The entries of some environments. */
export interface ListedTurns<T> {
  /** By environment; none is empty. */
  readonly pages: readonly (readonly T[])[];
  readonly limitEach: number;
}

export interface TenantTurns<T> {
  /** Lists who is next, and changes nothing: a transaction may run again. */
  list(tx: ReadTransaction, limit: number): Promise<ListedTurns<T>>;
  /** The same, one of each environment after the other. The next turns are those behind them. */
  take(listed: ListedTurns<T>): T[];
}

/** Environments that have turns together. */
const TURN_TENANTS = 10;

export function openTenantTurns<T extends OfEnvironment>(queue: TurnQueue<T>): TenantTurns<T> {
  let lastTenant = 0;
  /** By environment: the last entry that had a turn, while there are more behind it. */
  const lasts = new Map<number, string>();

  /** At most `limit` environments: those behind the last, and then from the beginning. */
  async function listTenants(tx: ReadTransaction, limit: number): Promise<number[]> {
    const found = new Set<number>();
    let from = lastTenant;
    let isWrapped = false;
    while (found.size < limit) {
      const [next] = await queue.list(tx, { tenant: from + 1, name: "" }, 1);
      if (next === undefined && isWrapped) break;
      if (next === undefined) isWrapped = true;
      else if (found.has(next.tenant)) break;
      else found.add(next.tenant);
      from = next?.tenant ?? 0;
    }
    return [...found];
  }

  async function listOf(tx: ReadTransaction, tenant: number, limit: number): Promise<T[]> {
    const behind = async (name: string) => {
      const page = await queue.list(tx, { tenant, name }, limit);
      return page.filter((entry) => entry.tenant === tenant);
    };
    const rest = await behind(lasts.get(tenant) ?? "");
    return rest.length > 0 ? rest : await behind("");
  }

  return {
    async list(tx, limit) {
      const tenants = await listTenants(tx, Math.min(limit, TURN_TENANTS));
      const limitEach = Math.floor(limit / Math.max(1, tenants.length));
      const pages = tenants.map((tenant) => listOf(tx, tenant, limitEach));
      return { pages: await Promise.all(pages), limitEach };
    },
    take({ pages, limitEach }) {
      const taken: T[] = [];
      for (let round = 0; round < limitEach; round++) {
        for (const page of pages) if (round < page.length) taken.push(page[round]!);
      }
      for (const page of pages) {
        const last = page.at(-1)!;
        if (page.length < limitEach) lasts.delete(last.tenant);
        else lasts.set(last.tenant, queue.nameOf(last));
        lastTenant = last.tenant;
      }
      return taken;
    },
  };
}
