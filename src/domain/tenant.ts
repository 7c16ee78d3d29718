/** Whose data it is: one instance in one of its three environments. Spec: "Base address". */

export const ENVIRONMENTS = ["production", "staging", "test"] as const;
export type Environment = typeof ENVIRONMENTS[number];

/** `prod` is an alias of `production`; anything unknown is undefined. */
export function parseEnvironment(text: string): Environment | undefined {
  if (text === "prod") return "production";
  return ENVIRONMENTS.find((environment) => environment === text);
}

/** The address of all data of one (instance, environment). `number` is its short name in keys. */
export interface Tenant {
  readonly instanceId: string;
  readonly environment: Environment;
  readonly number: number;
}
