/**
 * Callers of the API (API key holders and operators) and what each of them may do.
 *
 * See docs/reference/operators.md.
 */

import type { Environment, Tenant } from "../tenant.ts";

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

/** Whose credential opens the data of a tenant. */
export interface Holder {
  readonly instance: Instance;
  readonly tenant: Tenant;
  readonly scope: Scope;
  /** Who the operator is, for an operator token; absent for an API key. */
  readonly operator?: string;
}

/** The holder of a valid API key. */
export interface KeyHolder extends Holder {
  readonly keyId: string;
}

/** The holder of a valid operator token. */
export interface Operator {
  readonly subject: string;
  /** Ids of the instances that the token covers. Undefined means all instances. */
  readonly instances?: readonly string[];
}

/** An API key as lists show it, without the key itself. */
export interface ApiKeyView {
  readonly id: string;
  readonly name: string;
  readonly scope: Scope;
  readonly environment: Environment;
  readonly created_at: string;
  /** ISO 8601 UTC. Absent while the key has no end date. */
  readonly revoke_at?: string;
}

/** A new API key. `key` is shown only in this answer and is not stored. */
export type IssuedApiKey = ApiKeyView & { readonly key: string };
