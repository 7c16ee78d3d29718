/**
 * Checks the `metadata` of a write: five fields are writable, everything else is refused.
 *
 * See docs/reference/writing.md.
 */

import type { PartyReference } from "../event.ts";
import { explainIdentifier, parseIdentifier } from "../identifier.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import { nameHint } from "../nearest_name.ts";
import { accept, type Outcome, refuse } from "../refusal.ts";
import type { CompiledSpec } from "../spec/compiled.ts";
import type { Environment } from "../tenant.ts";

export interface CheckedMetadata {
  readonly actor: PartyReference;
  readonly target?: PartyReference;
  readonly previousLength?: number;
  readonly skipOcc: boolean;
  /** Unix seconds; absent to use the service's clock. */
  readonly timestamp?: number;
}

const SYSTEM_AGENT = "system_agent";
const SYSTEM_AGENT_IDS: ReadonlySet<string> = new Set([
  "event_scheduler",
  "test_data_importer",
  "saga_coordinator",
  "saga_compensator",
]);
const WRITABLE = new Set(["actor", "target", "previous_length", "skip_occ", "timestamp"]);
const STAMPED = new Set(["idempotency_key", "implied_by", "scheduled", "geo", "saga"]);

/**
 * Checks `metadata` as sent. Missing parts are refused with 400, everything else with 422 and a
 * path.
 */
export function checkMetadata(
  metadata: unknown,
  spec: CompiledSpec,
  environment: Environment,
): Outcome<CheckedMetadata> {
  if (!isJsonObject(metadata)) {
    const message = metadata === undefined ? "metadata is required" : "metadata must be an object";
    return refuse({ kind: "bad_request", message, path: "metadata" });
  }
  for (const field in metadata) {
    if (WRITABLE.has(field)) continue;
    return refuseField(
      field,
      STAMPED.has(field)
        ? `metadata.${field} is platform-stamped and cannot be set on writes`
        : `Unknown metadata field: ${field}`,
    );
  }
  if (metadata.actor === undefined) {
    const message = "metadata.actor is required";
    return refuse({ kind: "bad_request", message, path: "metadata.actor" });
  }
  const actor = checkParty("actor", metadata.actor, spec);
  if (!actor.ok) return actor;
  const target = metadata.target === undefined
    ? undefined
    : checkParty("target", metadata.target, spec);
  if (target !== undefined && !target.ok) return target;
  const guards = checkGuards(metadata, environment);
  if (!guards.ok) return guards;
  return accept({ actor: actor.value, target: target?.value, ...guards.value });
}

function refuseField(field: string, message: string, hint?: string) {
  return refuse({ kind: "metadata_invalid", path: `metadata.${field}`, message, hint });
}

/**
 * Timestamps from here on are taken for milliseconds. As seconds this is the year 5138, as
 * milliseconds it is 1973.
 */
export const MILLISECONDS_FROM = 100_000_000_000;

type Guards = Pick<CheckedMetadata, "previousLength" | "skipOcc" | "timestamp">;

function checkGuards(metadata: JsonObject, environment: Environment): Outcome<Guards> {
  const { previous_length: previousLength, skip_occ: skipOcc, timestamp } = metadata;
  if (previousLength !== undefined && !isCount(previousLength)) {
    const message = "metadata.previous_length must be a non-negative integer";
    return refuseField("previous_length", message);
  }
  if (skipOcc !== undefined && typeof skipOcc !== "boolean") {
    return refuseField("skip_occ", "metadata.skip_occ must be a boolean");
  }
  if (skipOcc === true && previousLength !== undefined) {
    const message = "metadata.skip_occ cannot be combined with metadata.previous_length";
    return refuseField("skip_occ", message);
  }
  if (timestamp !== undefined) {
    if (environment === "production") {
      const message = "metadata.timestamp is only accepted in non-production environments";
      return refuseField("timestamp", message);
    }
    if (!isCount(timestamp)) {
      const message = "metadata.timestamp must be a non-negative integer (Unix seconds)";
      return refuseField("timestamp", message);
    }
    if (timestamp >= MILLISECONDS_FROM) {
      const message = "metadata.timestamp is in milliseconds: it must be in Unix seconds";
      return refuseField("timestamp", message, `Send ${Math.floor(timestamp / 1000)}`);
    }
  }
  return accept({ previousLength, skipOcc: skipOcc === true, timestamp });
}

/** True for non-negative integers that a double holds exactly. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function checkParty(
  role: "actor" | "target",
  party: unknown,
  spec: CompiledSpec,
): Outcome<PartyReference> {
  if (!isJsonObject(party)) {
    return refuseField(role, `metadata.${role} must be an object {type, id}`);
  }
  for (const field in party) {
    if (field === "type" || field === "id") continue;
    return refuseField(`${role}.${field}`, `Unknown field in metadata.${role}: ${field}`);
  }
  const { type, id } = party;
  if (typeof type !== "string") {
    return refuseField(`${role}.type`, `metadata.${role}.type must be a string`);
  }
  if (typeof id !== "string") {
    return refuseField(`${role}.id`, `metadata.${role}.id must be a string`);
  }
  if (role === "actor" && type === SYSTEM_AGENT) return checkSystemAgent(id);
  const allowed = role === "actor" ? spec.agentTypes : spec.targetTypes;
  if (!allowed.has(type)) {
    const list = role === "actor" ? "agent_types" : "target_types";
    return refuseField(
      `${role}.type`,
      `metadata.${role}.type '${type}' is not in the spec's ${list}`,
      nameHint(type, allowed),
    );
  }
  const identifier = parseIdentifier(id, spec.singletons);
  if (identifier === undefined) {
    const path = `metadata.${role}.id`;
    return refuse({ kind: "identifier_invalid", path, message: explainIdentifier(id) });
  }
  return accept({ type, id: identifier.value });
}

function checkSystemAgent(id: string): Outcome<PartyReference> {
  if (SYSTEM_AGENT_IDS.has(id)) return accept({ type: SYSTEM_AGENT, id });
  const message = `metadata.actor.id of a ${SYSTEM_AGENT} must be one of ${
    [...SYSTEM_AGENT_IDS].join(", ")
  }`;
  return refuse({ kind: "identifier_invalid", path: "metadata.actor.id", message });
}
