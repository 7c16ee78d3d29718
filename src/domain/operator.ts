/** What an operator's token lets them do. Spec: "Authentication"; roles and claims are ours. */

import { hash } from "node:crypto";
import type { Operator } from "./access.ts";
import { type Outcome, refuse } from "./refusal.ts";

/** True where the token names the instance, or names none and so all. */
export function mayOperate(operator: Operator, instanceId: string): boolean {
  return operator.instances === undefined || operator.instances.includes(instanceId);
}

export function refuseOtherInstance(): Outcome<never> {
  return refuse({ kind: "forbidden", message: "The token does not cover this instance" });
}

/** Under what a verified token is remembered: 64 lowercase hex characters. */
export function hashToken(token: string): string {
  return hash("sha256", token, "hex");
}
