/**
 * Checks one event of an import and encodes it into the bytes that are stored.
 *
 * It is checked like a client's write, with four differences: the event names its stream, it must
 * have a timestamp (in production too), it must not have guards, and it may say where it is from.
 * Pure. See docs/reference/imports.md.
 */

import {
  type EncodedEvent,
  encodeEvent,
  encodeMetadata,
  type Origin,
  ORIGIN_FIELDS,
} from "../event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { accept, ACCEPTED, type Outcome, refuse } from "../refusal.ts";
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

/** `sent` is `{key, type, data, metadata: {actor, target?, timestamp, origin?}}`. */
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
  const { origin, metadata: writable } = takeOrigin(metadata);
  const known = origin === undefined ? ACCEPTED : checkOrigin(origin);
  if (!known.ok) return known;
  const request = { form: "single", targets, metadata: writable, requestId: "" } as const;
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
  const stored = encodeMetadata({ actor, target, timestamp, geo, origin: known.value });
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

/** The metadata that a write may have, and what only an import may say besides. */
function takeOrigin(metadata: JsonValue | undefined) {
  if (!isJsonObject(metadata) || metadata.origin === undefined) return { metadata };
  const { origin, ...writable } = metadata;
  return { origin, metadata: writable };
}

const KNOWN_OF_ORIGIN: ReadonlySet<string> = new Set(ORIGIN_FIELDS);

/** `{source, stream?, id?, time?, position?, correlation_id?, causation_id?}`, short texts. */
function checkOrigin(origin: JsonValue): Outcome<Origin> {
  if (!isJsonObject(origin)) return originInvalid("", "metadata.origin must be an object");
  for (const field in origin) {
    const value = origin[field];
    if (!KNOWN_OF_ORIGIN.has(field)) {
      return originInvalid(`.${field}`, `Unknown field in metadata.origin: ${field}`);
    }
    if (typeof value !== "string" || value.length > limits.originTextCharactersMax) {
      const message = `metadata.origin.${field} must be a string of at most ` +
        `${limits.originTextCharactersMax} characters`;
      return originInvalid(`.${field}`, message);
    }
  }
  if (origin.source === undefined) {
    return originInvalid(".source", "metadata.origin.source is required");
  }
  return accept(origin as unknown as Origin);
}

function originInvalid(field: string, message: string) {
  return refuse({ kind: "metadata_invalid", path: `metadata.origin${field}`, message });
}

function badRequest(message: string, path: string) {
  return refuse({ kind: "bad_request", message, path });
}
