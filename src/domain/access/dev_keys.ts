/**
 * API keys for development: fixed texts that everybody knows. They exist only in a store whose
 * first start was made with `DAYBOOK_DEV_KEYS`. See docs/operate/settings.md.
 */

import { type Environment, ENVIRONMENTS } from "../tenant.ts";
import type { Scope } from "./access.ts";
import { fillApiKey } from "./api_key.ts";

const SCOPES: readonly Scope[] = ["read", "write"];

export function devKey(environment: Environment, scope: Scope): string {
  return fillApiKey(environment, `${scope}ForDevelopmentOnlyEverybodyKnowsIt`);
}

export const DEV_KEYS: readonly string[] = ENVIRONMENTS.flatMap((environment) =>
  SCOPES.map((scope) => devKey(environment, scope))
);

/** What others could reach, or would believe to be more than a trial. */
export interface Exposure {
  /** Only programs on this machine can connect. */
  readonly isLoopback: boolean;
  readonly host: string;
  readonly baseDomain?: string;
  readonly tls?: unknown;
  readonly trustedProxies: readonly string[];
  /** Whether other machines use the store, too. */
  readonly isShared: boolean;
  readonly bootstrap: boolean;
}

/** Why a server with these settings must not have keys that everybody knows, one reason a line. */
export function findDevKeyFaults(exposure: Exposure): string[] {
  const { isLoopback, host, baseDomain, isShared, bootstrap } = exposure;
  const isPublicName = baseDomain !== undefined && baseDomain !== "localhost" &&
    !baseDomain.endsWith(".localhost");
  const reasons = [
    !isLoopback && `DAYBOOK_HOST is ${host}, which others can reach; use 127.0.0.1`,
    isPublicName && `DAYBOOK_BASE_DOMAIN is ${baseDomain}, a public name; use localhost`,
    exposure.tls !== undefined && "DAYBOOK_TLS_CERT is set, so others are to connect",
    exposure.trustedProxies.length > 0 &&
    "DAYBOOK_TRUSTED_PROXIES is set, so others connect through a proxy",
    isShared && "DAYBOOK_STORE is foundationdb, which other machines share; use sqlite",
    !bootstrap && "DAYBOOK_BOOTSTRAP is false, so no keys are made at all",
  ];
  return reasons.filter((reason) => reason !== false).map((reason) =>
    `DAYBOOK_DEV_KEYS: keys that everybody knows are for development alone, but ${reason}`
  );
}
