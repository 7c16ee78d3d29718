/**
 * Room of so many bytes that environments share: one alone has half of it, and each next one half
 * of what the others leave. So there is always room for another.
 */

export interface ByteShares {
  /** Whether a tenant has its part. */
  isFull(tenant: number): boolean;
  /** Takes bytes, or gives them back where they are negative. */
  add(tenant: number, bytes: number): void;
}

export function openShares(bytesMax: number): ByteShares {
  const byTenant = new Map<number, number>();
  let total = 0;

  return {
    isFull(tenant) {
      const own = byTenant.get(tenant) ?? 0;
      const others = total - own;
      return own > 0 && 2 * own >= bytesMax - others;
    },
    add(tenant, bytes) {
      total += bytes;
      const own = (byTenant.get(tenant) ?? 0) + bytes;
      if (own === 0) byTenant.delete(tenant);
      else byTenant.set(tenant, own);
    },
  };
}
