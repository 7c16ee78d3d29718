/**
 * Checks one event of an import and encodes it into the bytes that are stored.
 *
 * It is checked like a client's write, with three differences: the event names its stream, it
 * must have a timestamp (in production too), and it must not have guards. Pure. See
 * docs/reference/imports.md.
 */

import { type EncodedEvent, encodeEvent, encodeMetadata } from "../event.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import { accept, type Outcome, refuse } from "../refusal.ts";
import type { CompiledAggregateType, CompiledSpec } from "../spec/compiled.ts";
import type { StreamKey } from "../identifier.ts";
import { validateWrite } from "../write/validate_write.ts";

/** An event that passed the checks. */
export interface ImportedEvent {
  readonly key: StreamKey;
  readonly aggregateType: string;
  readonly id: string;
  readonly event: EncodedEvent;
  /** Unix seconds: the event's own time. */
  readonly timestamp: number;
  readonly owner: CompiledAggregateType;
  /** True when a module handles the event, which may therefore refuse it. */
  readonly isJudged: boolean;
}

const FIELDS: ReadonlySet<string> = new Set(["key", "type", "data", "metadata"]);
const GUARDS = ["previous_length", "skip_occ"];

/**
 * An environment whose writes may set a timestamp. Imports are checked as if they were in it,
 * because they may set one everywhere.
 */
const TIMES_ARE_TAKEN = "test";

/** `sent` is `{key, type, data, metadata: {actor, target?, timestamp}}`. */
export function checkImportedEvent(sent: JsonObject, spec: CompiledSpec): Outcome<ImportedEvent> {
  for (const field in sent) {
    if (!FIELDS.has(field)) return badRequest(`Unknown field: ${field}`, field);
  }
  const { key, type, data, metadata } = sent;
  if (typeof key !== "string") return badRequest("key must be a string", "key");
  if (typeof type !== "string") return badRequest("type must be a string", "type");
  const colon = key.indexOf(":");
  if (colon < 1) {
    const message = "key must be <aggregate_type>:<aggregate_id>";
    return refuse({ kind: "identifier_invalid", path: "key", message });
  }
  const aggregateType = key.slice(0, colon);
  const events = [{ type, data }];
  const targets = [{ aggregateType, id: key.slice(colon + 1), events }];
  const request = { form: "single", targets, metadata, requestId: "" } as const;
  const checked = validateWrite(request, spec, TIMES_ARE_TAKEN);
  if (!checked.ok) return checked;
  const guard = isJsonObject(metadata) && GUARDS.find((field) => Object.hasOwn(metadata, field));
  if (guard) {
    const message = `metadata.${guard} is for writes; an imported event follows what is there`;
    return refuse({ kind: "metadata_invalid", path: `metadata.${guard}`, message });
  }
  const { actor, target, timestamp } = checked.value.metadata;
  if (timestamp === undefined) {
    const message = "metadata.timestamp is required: imported events say when they were";
    return badRequest(message, "metadata.timestamp");
  }
  const stream = checked.value.targets[0]!;
  const { dataJson, geo } = stream.events[0]!;
  const stored = encodeMetadata({ actor, target, timestamp, geo });
  const event = encodeEvent({ key: stream.key, type, dataJson, metadataJson: stored, geo });
  const owner = spec.aggregateTypes.get(aggregateType)!;
  const isJudged = owner.wasmHandlers.has(type);
  return accept({
    key: stream.key,
    aggregateType,
    id: stream.id,
    event,
    timestamp,
    owner,
    isJudged,
  });
}

function badRequest(message: string, path: string) {
  return refuse({ kind: "bad_request", message, path });
}
