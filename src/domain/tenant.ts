/** Tenants: one instance in one of its three environments. See docs/reference/basics.md. */

export const ENVIRONMENTS = ["production", "staging", "test"] as const;
export type Environment = typeof ENVIRONMENTS[number];

/** `prod` is an alias of `production`. Unknown names give undefined. */
export function parseEnvironment(text: string): Environment | undefined {
  if (text === "prod") return "production";
  return ENVIRONMENTS.find((environment) => environment === text);
}

/** Identifies all data of one instance in one environment. `number` is its short name in keys. */
export interface Tenant {
  readonly instanceId: string;
  readonly environment: Environment;
  readonly number: number;
}
