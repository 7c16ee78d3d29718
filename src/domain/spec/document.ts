/**
 * The form of a spec document: the keys of each level, and the names that are reserved.
 *
 * See docs/reference/specs.md and docs/reference/identifiers.md.
 */

import { type Texts, TextSet } from "../lookup/text_map.ts";

export const ANNOTATIONS = ["title", "description", "examples"] as const;

export const ROOT_KEYS = [
  "aggregate_types",
  "agent_types",
  "target_types",
  "modules",
  "geo_types",
  "singletons",
  "$schema",
  ...ANNOTATIONS,
] as const;

export const AGGREGATE_TYPE_KEYS = ["events", ...ANNOTATIONS] as const;

export const EVENT_TYPE_KEYS = [
  "schema",
  "handler",
  "implications",
  "allow_skip_occ",
  "guards",
  "geo",
  ...ANNOTATIONS,
] as const;

export const MODULE_KEYS = ["never_cache", "sagas", "listeners"] as const;

/** Aggregate types that would hide one of the service's own paths. */
export const RESERVED_AGGREGATE_TYPES: ReadonlySet<string> = new Set(["api", "health", "metrics"]);

/** Event types that would hide `/{type}/{id}/length` and its neighbours. */
export const RESERVED_EVENT_TYPES: ReadonlySet<string> = new Set(["length", "events", "audit"]);

/** Singletons that would hide `/{type}/nearby`. */
export const RESERVED_SINGLETONS: Texts = new TextSet(["nearby"]);

const SYSTEM_EVENT_NAME = /^_[a-z0-9_]{1,63}$/;

/** True for event types of the platform, such as `_was_tombstoned`. */
export function isSystemEventName(text: string): boolean {
  return SYSTEM_EVENT_NAME.test(text);
}
