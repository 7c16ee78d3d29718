/** What an operator token allows. See docs/reference/operators.md. */

import { hash } from "node:crypto";
import type { Operator } from "./access.ts";
import { type Outcome, refuse } from "../refusal.ts";

/** True if the token names the instance, or names none, which covers all instances. */
export function mayOperate(operator: Operator, instanceId: string): boolean {
  return operator.instances === undefined || operator.instances.includes(instanceId);
}

export function refuseOtherInstance(): Outcome<never> {
  return refuse({ kind: "forbidden", message: "The token does not cover this instance" });
}

/** The key under which a verified token is cached: 64 lowercase hex characters. */
export function hashToken(token: string): string {
  return hash("sha256", token, "hex");
}
