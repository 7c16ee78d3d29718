/**
 * What each event of `world_spec.ts` implies, implemented a second time in the plainest way.
 * The product is compared with this; it uses nothing of the product.
 */

import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import type { StoredEvent } from "../../src/domain/event.ts";
import type { SpecNumber } from "./world_spec.ts";

export interface Expected {
  readonly key: string;
  readonly type: string;
  readonly data: JsonObject;
}

const DEPTH_MAX = 8;
const IDS: readonly JsonValue[] = ["a", "b", "c", "global", "poisoned"];

export function depthOf({ metadata }: Pick<StoredEvent, "metadata">): number {
  return metadata.implied_by?.depth ?? 0;
}

/** The events implied at once, in order. */
export function expectedEvents(event: StoredEvent, spec: SpecNumber): Expected[] {
  return depthOf(event) >= DEPTH_MAX ? [] : followingEvents(event, spec);
}

/** How many events would be implied if the depth limit did not forbid it. */
export function countTooDeep(event: StoredEvent, spec: SpecNumber): number {
  return depthOf(event) < DEPTH_MAX ? 0 : followingEvents(event, spec).length;
}

function followingEvents({ key, type, data }: StoredEvent, spec: SpecNumber): Expected[] {
  const [aggregate, id] = key.split(":") as [string, string];
  if (aggregate !== "order") return [];
  const of = data.n ?? null;
  const ledger = (type: string, to: JsonValue = id, more: JsonObject = {}) => ({
    key: `ledger:${to}`,
    type,
    data: { of, ...more },
  });
  const flagged = data.flag === true ? [ledger("was_flagged")] : [];
  switch (type) {
    case "was_placed": {
      const audited = spec === 2 ? [ledger("was_audited")] : [];
      return [ledger("was_noted", id, { spec }), ...flagged, ...audited];
    }
    case "was_spread":
      return (data.ids as string[]).map((to) => ledger("was_noted", to));
    case "was_piped":
      return [...flagged, ledger("was_noted")];
    case "was_echoed":
      return [{ key, type, data: { n: of } }];
    case "was_counted":
      return [ledger("was_counted", id, { count: data.count! }), ledger("was_noted")];
    case "was_sent": {
      const sent = IDS.includes(data.to!) ? [ledger("was_noted", data.to)] : [];
      return [...sent, ledger("was_flagged")];
    }
    case "was_confirmed":
      return [{ key: `ledger:${id}`, type: "was_noted", data: { of: data.of ?? null } }];
    default:
      return [];
  }
}

/** How many implications of the event cannot be computed and so produce nothing. */
export function countFailures({ key, type, data }: StoredEvent): number {
  return key.startsWith("order:") && type === "was_sent" && !IDS.includes(data.to!) ? 1 : 0;
}

/** Whether an event fits none of the specs. */
export function fitsNever({ type, data }: Expected): boolean {
  return type === "was_counted" && typeof data.count !== "number";
}

export interface ExpectedSchedule extends Expected {
  readonly delayMs: number;
  /** `<key> <type>` of the events that cancel it. */
  readonly cancelledBy: readonly string[];
}

/** The event that is scheduled for later, if any. */
export function expectedSchedule({ key, type, data }: StoredEvent): ExpectedSchedule | undefined {
  if (!key.startsWith("order:")) return undefined;
  if (type === "was_promised") {
    return {
      key,
      type: "was_reminded",
      data: { of: data.n! },
      delayMs: 2_000,
      cancelledBy: [`${key} was_paid`, "order:global was_called_off"],
    };
  }
  if (type !== "was_delayed") return undefined;
  return {
    key: `order:${data.to}`,
    type: "was_placed",
    data: { n: data.n!, flag: data.flag! },
    delayMs: 1_000,
    cancelledBy: [],
  };
}

/** The `implied_count` that the client gets for it. */
export function countActions(event: StoredEvent, spec: SpecNumber): number {
  return expectedEvents(event, spec).length + (expectedSchedule(event) === undefined ? 0 : 1);
}

export function startsSaga({ key, type, data }: StoredEvent): boolean {
  return key.startsWith("order:") && type === "was_requested" && data.saga === true;
}
