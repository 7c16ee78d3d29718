/** Prepares one scheduled event: its id, its record, and how many bytes it will store. */

import { Buffer } from "node:buffer";
import type { Action, Emission } from "../../domain/reaction/action.ts";
import type { JsonObject } from "../../domain/json.ts";
import { keptTimerRoot, type StoredRoot } from "../../domain/reaction/root.ts";
import { formatUuid } from "../../domain/uuid.ts";
import type { Host } from "../../host.ts";
import type { PreparedSchedule } from "./prepared_write.ts";
import { parseJson } from "../../domain/json_text/parse_json.ts";

/** The write that schedules events. */
export interface ScheduleSource {
  readonly host: Host;
  readonly nowMs: number;
  readonly requestId: string;
  /** The first bytes of the ids of its scheduled events, drawn with the first of them. */
  scheduleIdPrefix: Uint8Array | undefined;
}

const UUID_BYTES = 16;
/** Shared by the ids of one write; each id has nine random bytes of its own. */
const UUID_PREFIX_BYTES = 7;
/** A record besides its event, with its keys and timer; and one of its rules besides the stream. */
const SCHEDULE_BYTES = 1_100;
const RULE_BYTES = 400;

/** Up to so many characters, a record keeps its data as an object. */
const OBJECT_LENGTH_MAX = 256;

/** The record of a scheduled event whose delay begins now. */
export function prepareSchedule(
  source: ScheduleSource,
  { delayMs, emission, cancelOn }: Extract<Action, { readonly kind: "schedule" }>,
  kept: StoredRoot | undefined,
): PreparedSchedule {
  const { nowMs, requestId } = source;
  const id = scheduleId(source);
  const fireAtMs = nowMs + delayMs;
  const dataJson = JSON.stringify(emission.data);
  const rules = cancelOn.reduce((sum, { key }) => sum + 3 * key.length + RULE_BYTES, 0);
  const plain = JSON.stringify({ ...emission, data: null });
  const eventBytes = Buffer.byteLength(plain) + Buffer.byteLength(dataJson);
  return {
    id,
    emission: leanEmission(emission, dataJson),
    cancelOn,
    createdMs: nowMs,
    fireAtMs,
    requestId,
    tries: 0,
    timerMs: fireAtMs,
    root: keptTimerRoot(kept, `${emission.aggregateType}.${emission.eventType}`),
    bytes: SCHEDULE_BYTES + eventBytes + rules,
  };
}

/**
 * The same event with its data as text, from which it is made anew on each access. As an object it
 * takes up to thirty times the memory.
 */
function leanEmission(emission: Emission, dataJson: string): Emission {
  if (dataJson.length <= OBJECT_LENGTH_MAX) return emission;
  const { key, aggregateType, id, eventType } = emission;
  return {
    key,
    aggregateType,
    id,
    eventType,
    get data() {
      return parseJson(dataJson) as JsonObject;
    },
  };
}

/** Ids of one write are neighbours in the store: their records share pages. */
function scheduleId(source: ScheduleSource): string {
  source.scheduleIdPrefix ??= source.host.randomBytes(UUID_PREFIX_BYTES);
  const bytes = new Uint8Array(UUID_BYTES);
  bytes.set(source.scheduleIdPrefix);
  bytes.set(source.host.randomBytes(UUID_BYTES - UUID_PREFIX_BYTES), UUID_PREFIX_BYTES);
  return formatUuid(bytes);
}
