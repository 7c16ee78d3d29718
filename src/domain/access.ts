/** Who is calling, and what they may do. Spec: "Authentication". */

import type { Environment, Tenant } from "./tenant.ts";

export type Scope = "read" | "write";

export const TIERS = ["free", "hobby", "pro", "scale", "unlimited"] as const;
export type Tier = typeof TIERS[number];

export interface Instance {
  readonly id: string;
  readonly slug: string;
  readonly tier: Tier;
  /** ISO 8601 UTC. */
  readonly created_at: string;
}

/** The holder of a valid API key. */
export interface KeyHolder {
  readonly keyId: string;
  readonly instance: Instance;
  readonly tenant: Tenant;
  readonly scope: Scope;
}

/** The holder of a valid operator token. */
export interface Operator {
  readonly subject: string;
  /** Undefined: all instances. */
  readonly instances?: readonly string[];
}

/** An API key as it may be listed: never the key itself. */
export interface ApiKeyView {
  readonly id: string;
  readonly name: string;
  readonly scope: Scope;
  readonly environment: Environment;
  readonly created_at: string;
  /** ISO 8601 UTC; absent while no end is set. */
  readonly revoke_at?: string;
}

/** A key just made: `key` is shown here once and kept nowhere. */
export type IssuedApiKey = ApiKeyView & { readonly key: string };
