/**
 * What a new spec would do to stored data: which stored events it would refuse, and which states
 * it would change. Collects what a check finds, within the size of an answer. See
 * docs/reference/check-data.md.
 */

import { canonicalJson } from "../canonical_json.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { isJsonObject } from "../json.ts";
import { limits } from "../limits.ts";
import type { DataFault } from "../refusal.ts";
import { splitStreamKey, type StreamKey } from "../identifier.ts";

/** An event that could not be written any more. */
export interface RefusedExample {
  readonly key: StreamKey;
  /** As in the events listing. */
  readonly id: string;
  readonly details: readonly DataFault[];
}

/** An aggregate whose state would be another one. */
export interface ChangedExample {
  readonly key: StreamKey;
  readonly before: JsonValue;
  readonly after: JsonValue;
  /** Why there is no state on one side, which is null there. */
  readonly error?: string;
}

export interface DataCheck {
  /** Events that were tried. */
  readonly events: number;
  /** By event type, as `<aggregate_type>.<event_type>`; the most first. */
  readonly refused: readonly {
    readonly event_type: string;
    readonly count: number;
    readonly examples: readonly RefusedExample[];
  }[];
  /** Aggregates whose states were compared. */
  readonly aggregates: number;
  /** By aggregate type; the most first. */
  readonly changed: readonly {
    readonly type: string;
    readonly count: number;
    readonly examples: readonly ChangedExample[];
  }[];
  /** What the guards of the new spec say of stored events; absent if it has none. */
  readonly guards?: {
    /** Events that have guards, and were judged on the states before them. */
    readonly judged: number;
    /** Guards that would not have held; the most first. */
    readonly failed: readonly {
      readonly event_type: string;
      readonly guard: number;
      readonly message: string;
      readonly count: number;
      readonly examples: readonly UnheldExample[];
    }[];
    /** Guards that are not tried: they look at states of modules. */
    readonly untried: number;
  };
  /** Whether every event was tried and every aggregate was compared. */
  readonly complete: boolean;
}

/** An event for which a guard would not have held. */
export interface UnheldExample {
  readonly key: StreamKey;
  /** As in the events listing. */
  readonly id: string;
}

/** A guard of the new spec. */
export interface NamedGuard {
  readonly eventType: string;
  readonly guard: number;
  readonly message: string;
}

/** Collects what is found, one event and one aggregate at a time. */
export interface DataCheckDraft {
  readonly events: number;
  readonly aggregates: number;
  /** An event that was tried; `faults` is empty if it is accepted. */
  addEvent(key: StreamKey, type: string, id: string, faults: readonly DataFault[]): void;
  /** An event that was judged, and the guards that do not hold for it. */
  addJudged(example: UnheldExample, failed: readonly NamedGuard[]): void;
  /** An aggregate whose state stays as it is. */
  addSame(): void;
  /** An aggregate whose state changes. */
  addChanged(example: ChangedExample): void;
  /** Something was left out. */
  leaveOut(): void;
  end(): DataCheck;
}

interface Group<Example> {
  count: number;
  readonly examples: Example[];
}

/** `untried`: how many guards of the new spec are not tried; undefined if it has none at all. */
export function openDataCheck(untried?: number): DataCheckDraft {
  const refused = new Map<string, Group<RefusedExample>>();
  const changed = new Map<string, Group<ChangedExample>>();
  const failed = new Map<string, Group<UnheldExample> & NamedGuard>();
  let events = 0;
  let judged = 0;
  let aggregates = 0;
  let complete = true;

  function top<One extends Group<unknown>>(groups: ReadonlyMap<string, One>) {
    const sorted = [...groups].sort(([, one], [, other]) => other.count - one.count);
    if (sorted.length > limits.violationsMax) complete = false;
    return sorted.slice(0, limits.violationsMax);
  }

  function failedTop() {
    return top(failed).map(([, { eventType, guard, message, count, examples }]) => (
      { event_type: eventType, guard, message, count, examples }
    ));
  }

  return {
    get events() {
      return events;
    },
    get aggregates() {
      return aggregates;
    },
    addEvent(key, type, id, faults) {
      events++;
      if (faults.length === 0) return;
      const name = `${splitStreamKey(key).type}.${type}`;
      add(refused, name, () => ({ key, id, details: faults.slice(0, FAULTS_MAX).map(clipFault) }));
    },
    addJudged(example, guards) {
      judged++;
      for (const one of guards) {
        const name = `${one.eventType} ${one.guard}`;
        const group = failed.get(name) ?? { ...one, count: 0, examples: [] };
        failed.set(name, group);
        group.count++;
        if (group.examples.length < limits.dataCheckExamplesMax) group.examples.push(example);
      }
    },
    addSame() {
      aggregates++;
    },
    addChanged(example) {
      aggregates++;
      add(changed, splitStreamKey(example.key).type, () => clipExample(example));
    },
    leaveOut() {
      complete = false;
    },
    end() {
      const [refusedTop, changedTop] = [top(refused), top(changed)];
      return {
        events,
        refused: refusedTop.map(([event_type, group]) => ({ event_type, ...group })),
        aggregates,
        changed: changedTop.map(([type, group]) => ({ type, ...group })),
        ...(untried !== undefined && { guards: { judged, failed: failedTop(), untried } }),
        complete,
      };
    },
  };
}

function add<E>(groups: Map<string, Group<E>>, name: string, example: () => E): void {
  let group = groups.get(name);
  if (group === undefined) groups.set(name, group = { count: 0, examples: [] });
  group.count++;
  if (group.examples.length < limits.dataCheckExamplesMax) group.examples.push(example());
}

/** Faults of one event that are shown, and the characters of each of their texts. */
const FAULTS_MAX = 3;
const FAULT_CHARACTERS_MAX = 300;

function clipFault({ path, message }: DataFault): DataFault {
  return {
    path: clipText(path, FAULT_CHARACTERS_MAX),
    message: clipText(message, FAULT_CHARACTERS_MAX),
  };
}

/**
 * How two texts of states compare. Undefined: they are too long to tell at once, or `parse` gives
 * one of them up.
 */
export function isSameState(
  before: string,
  after: string,
  parse: (text: string) => JsonObject | undefined,
): boolean | undefined {
  if (before === after) return true;
  // The order of keys says nothing, and does not change the length.
  if (before.length !== after.length) return false;
  if (before.length > limits.dataCheckStateCharactersMax) return undefined;
  const left = parse(before);
  const right = left && parse(after);
  return right && canonicalJson(left) === canonicalJson(right);
}

/**
 * Makes an example short. Of long states, first what is the same in both is left out, then what is
 * behind the first entries of lists and objects, and the ends of texts.
 */
export function clipExample({ key, before, after, error }: ChangedExample): ChangedExample {
  const max = limits.dataCheckExampleCharactersMax;
  const isShort = length(before) <= max && length(after) <= max;
  const [left, right] = isShort ? [before, after] : differences(before, after);
  const about = error === undefined ? {} : { error: clipText(error, FAULT_CHARACTERS_MAX) };
  return { key, before: clipValue(left), after: clipValue(right), ...about };
}

function length(value: JsonValue): number {
  return JSON.stringify(value).length;
}

function differences(before: JsonValue, after: JsonValue): [JsonValue, JsonValue] {
  if (!isJsonObject(before) || !isJsonObject(after)) return [before, after];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const differs = (name: string) => {
    const [one, other] = [valueAt(before, name), valueAt(after, name)];
    if (one === undefined || other === undefined) return true;
    return canonicalJson(one) !== canonicalJson(other);
  };
  const kept = [...names].filter(differs);
  return [only(before, kept), only(after, kept)];
}

function valueAt(value: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

function only(value: JsonObject, names: readonly string[]): JsonObject {
  const entries = names.filter((name) => Object.hasOwn(value, name))
    .map((name) => [name, value[name]!]);
  return Object.fromEntries(entries);
}

/** As much of a value as fits; what is left out is counted in a text in its place. */
function clipValue(value: JsonValue): JsonValue {
  let left = limits.dataCheckExampleCharactersMax;

  function clip(part: JsonValue, depth: number): JsonValue {
    if (typeof part === "string") {
      const text = clipText(part, Math.max(CLIPPED_CHARACTERS_MIN, left));
      left -= text.length + 2;
      return text;
    }
    if (typeof part !== "object" || part === null) {
      left -= String(part).length;
      return part;
    }
    const isList = Array.isArray(part);
    const entries: [string, JsonValue][] = Object.entries(part);
    const kept: [string, JsonValue][] = [];
    left -= 2;
    for (const [name, one] of entries) {
      if (left <= 0 || depth >= DEPTH_MAX) break;
      left -= isList ? 1 : name.length + 4;
      kept.push([clipText(name, FAULT_CHARACTERS_MAX), clip(one, depth + 1)]);
    }
    const missing = entries.length - kept.length;
    if (isList) {
      const list = kept.map(([, one]) => one);
      return missing > 0 ? [...list, `... ${missing} more`] : list;
    }
    return Object.fromEntries(missing > 0 ? [...kept, ["...", `${missing} more`]] : kept);
  }

  return clip(value, 0);
}

/** So much of a text is shown where nothing else fits any more. */
const CLIPPED_CHARACTERS_MIN = 20;
const DEPTH_MAX = 32;

function clipText(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}...`;
}
