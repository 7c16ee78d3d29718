/**
 * Compares a deployed spec with another one for people: every difference with its place, what was
 * there and what is there now, and what it means. Whether a change is refused is decided by
 * `compatibility.ts` alone.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { Violation } from "../refusal.ts";
import { checkCompatibility } from "./compatibility.ts";
import { ANNOTATIONS } from "./document.ts";
import { joinKey } from "./fault_list.ts";
import { compareSchemas } from "./schema_diff.ts";
import {
  type Effect,
  type FoundChange,
  isSame,
  namesIn,
  namesOf,
  objectIn,
  type SpecChange,
  specChange,
  type Words,
} from "./spec_change.ts";

export interface SpecDiff {
  readonly verdict: "same" | "compatible" | "refused";
  readonly changes: readonly SpecChange[];
  /** Aggregate types whose states are computed with other handlers. */
  readonly folded_again: readonly string[];
}

/**
 * All differences between two specs that both compile. Without `before`, everything is added.
 * `violations` are what a server refuses; by default, what our own rules say.
 */
export function diffSpecs(
  before: JsonObject | undefined,
  after: JsonObject,
  violations?: readonly Violation[],
): SpecDiff {
  if (isSame(before, after)) {
    return { verdict: "same", changes: [], folded_again: [] };
  }
  const was = before ?? {};
  const found = [
    ...compareTypes(objectIn(was, "aggregate_types"), objectIn(after, "aggregate_types")),
    ...ROOT_LISTS.flatMap(([key, words]) => compareLists(was[key], after[key], key, words)),
    ...compareMembers(objectIn(was, "geo_types"), objectIn(after, "geo_types"), GEO_TYPES),
    ...compareModules(objectIn(was, "modules"), objectIn(after, "modules")),
    ...compareAnnotations(was, after, ["$schema", ...ANNOTATIONS], ""),
  ];
  const refused = violations ?? (before === undefined ? [] : checkCompatibility(before, after));
  return {
    verdict: refused.length > 0 ? "refused" : "compatible",
    changes: judge(found, refused),
    folded_again: [...new Set(found.filter(({ effect }) => effect === "states").map(typeOf))],
  };
}

function typeOf({ path }: FoundChange): string {
  return path.split(".")[1]!;
}

/** Gives each refused change its rule. What no change accounts for is listed on its own. */
function judge(found: readonly FoundChange[], violations: readonly Violation[]): SpecChange[] {
  const left = [...violations];
  const changes = found.map(({ matches, ...change }): SpecChange => {
    const at = left.findIndex(({ rule, path }) => rule === matches && path === change.path);
    const violation = at === -1 ? undefined : left.splice(at, 1)[0]!;
    return violation === undefined ? change : refusedBy(violation, change);
  });
  const others = left.map((violation) =>
    refusedBy(violation, { kind: "changed" as const, path: violation.path })
  );
  return [...changes, ...others];
}

function refusedBy(
  { rule, message, hint }: Violation,
  change: Pick<SpecChange, "kind" | "path" | "before" | "after">,
): SpecChange {
  return { ...change, effect: "refused", meaning: message, rule, hint };
}

function compareTypes(before: JsonObject, after: JsonObject): FoundChange[] {
  return namesOf(before, after).flatMap((name): FoundChange[] => {
    const path = joinKey("aggregate_types", name);
    const [was, is] = [before[name], after[name]];
    if (was === undefined || is === undefined) {
      return [presence(path, was, is, {
        added: `Aggregates of type ${name} can be written.`,
        removed: `Aggregates of type ${name} can no longer be read or written.`,
        matches: "aggregate_type_removed",
      })];
    }
    const events = compareEvents(name, objectIn(was, "events"), objectIn(is, "events"));
    return [...events, ...compareAnnotations(was, is, ANNOTATIONS, path)];
  });
}

function compareEvents(type: string, before: JsonObject, after: JsonObject): FoundChange[] {
  return namesOf(before, after).flatMap((name): FoundChange[] => {
    const path = joinKey(`${joinKey("aggregate_types", type)}.events`, name);
    const [was, is] = [before[name], after[name]];
    if (isJsonObject(was) && isJsonObject(is)) return compareEvent(type, was, is, path);
    return [presence(path, was, is, {
      added: `${type} has a new event type.`,
      removed: `Stored events of ${name} could no longer be folded.`,
      matches: "event_type_removed",
    })];
  });
}

function compareEvent(
  type: string,
  was: JsonObject,
  is: JsonObject,
  path: string,
): FoundChange[] {
  const versions = { was, is, path };
  const schema = isSame(was.schema, is.schema)
    ? []
    : compareSchemas(was.schema ?? true, is.schema ?? true, `${path}.schema`);
  return [
    ...schema,
    ...changed(versions, "handler", {
      effect: "states",
      meaning: `States of ${type} are computed again from their events, with this handler.`,
    }),
    ...changed(versions, "implications", {
      effect: "compatible",
      meaning: "Holds for events that are written from now on.",
    }),
    ...changed(versions, "geo", {
      effect: "compatible",
      meaning: "Holds for events that are written from now on.",
    }),
    ...changed(versions, "allow_skip_occ", {
      effect: is.allow_skip_occ === true ? "compatible" : "narrower",
      meaning: is.allow_skip_occ === true
        ? "Writes may have skip_occ."
        : "Writes with skip_occ would be refused.",
    }),
    ...changed(versions, "guards", {
      effect: is.guards === undefined ? "compatible" : "narrower",
      meaning: is.guards === undefined
        ? "Nothing guards such writes any more."
        : "Writes for which a guard does not hold would be refused.",
    }),
    ...compareAnnotations(was, is, ANNOTATIONS, path),
  ];
}

interface PresenceWords {
  readonly added: string;
  readonly removed: string;
  /** What a removal means as long as no rule refuses it. */
  readonly removedEffect?: Effect;
  readonly matches?: string;
}

function presence(
  path: string,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  { added, removed, removedEffect = "narrower", matches }: PresenceWords,
): FoundChange {
  const isAdded = before === undefined;
  return specChange(path, before, after, {
    effect: isAdded ? "compatible" : removedEffect,
    meaning: isAdded ? added : removed,
    ...(matches !== undefined && { matches }),
  });
}

/** Two versions of an object that has parts. */
interface Versions {
  readonly was: JsonObject;
  readonly is: JsonObject;
  readonly path: string;
}

function changed({ was, is, path }: Versions, key: string, words: Words): FoundChange[] {
  const [before, after] = [was[key], is[key]];
  return isSame(before, after) ? [] : [specChange(joinKey(path, key), before, after, words)];
}

type ListWords = (name: string) => PresenceWords;

const ROOT_LISTS: readonly (readonly [key: string, words: ListWords])[] = [
  ["agent_types", (name) => ({
    added: `Actors of type ${name} may write.`,
    removed: `Writes of actors of type ${name} would be refused.`,
  })],
  ["target_types", (name) => ({
    added: `Writes may have targets of type ${name}.`,
    removed: `Writes with targets of type ${name} would be refused.`,
  })],
  ["singletons", (name) => ({
    added: `${name} is an id of every type.`,
    removed: `Aggregates with the id ${name} can no longer be read or written.`,
  })],
];

function compareLists(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  key: string,
  words: ListWords,
): FoundChange[] {
  const [was, is] = [namesIn(before), namesIn(after)];
  const added = is.filter((name) => !was.includes(name));
  const removed = was.filter((name) => !is.includes(name));
  return [
    ...added.map((name) => presence(key, undefined, name, words(name))),
    ...removed.map((name) => presence(key, name, undefined, words(name))),
  ];
}

interface MemberWords {
  readonly path: string;
  readonly added: (name: string) => string;
  readonly removed: (name: string) => string;
  readonly changed: (name: string) => string;
}

const GEO_TYPES: MemberWords = {
  path: "geo_types",
  added: (name) => `${name} is a kind of point.`,
  removed: (name) => `${name} is no kind of point any more.`,
  changed: () => "Holds for events that are written from now on.",
};

const SAGAS: MemberWords = {
  path: "modules.sagas",
  added: (name) => `Events that are written from now on may start ${name}.`,
  removed: (name) => `${name} is not started any more.`,
  changed: (name) => `Holds for ${name} from its next step on.`,
};

const LISTENERS: MemberWords = {
  path: "modules.listeners",
  added: (name) => `${name} is told of matching events that are written from now on.`,
  removed: (name) => `${name} is told of nothing more.`,
  changed: (name) => `Holds for ${name} from the next delivery on.`,
};

function compareMembers(
  before: JsonObject,
  after: JsonObject,
  words: MemberWords,
): FoundChange[] {
  return namesOf(before, after).flatMap((name) =>
    before[name] === undefined || after[name] === undefined
      ? [presence(joinKey(words.path, name), before[name], after[name], {
        added: words.added(name),
        removed: words.removed(name),
        removedEffect: "compatible",
      })]
      : changed({ was: before, is: after, path: words.path }, name, {
        effect: "compatible",
        meaning: words.changed(name),
      })
  );
}

function compareModules(before: JsonObject, after: JsonObject): FoundChange[] {
  return [
    ...compareMembers(objectIn(before, "sagas"), objectIn(after, "sagas"), SAGAS),
    ...compareMembers(objectIn(before, "listeners"), objectIn(after, "listeners"), LISTENERS),
    ...compareLists(before.never_cache, after.never_cache, "modules.never_cache", (name) => ({
      added: `States of ${name} are folded anew for each read.`,
      removed: `States of ${name} are kept from read to read.`,
      removedEffect: "compatible",
    })),
  ];
}

function compareAnnotations(
  before: JsonValue,
  after: JsonValue,
  keys: readonly string[],
  path: string,
): FoundChange[] {
  if (!isJsonObject(before) || !isJsonObject(after)) return [];
  const words = { effect: "none", meaning: "A text for people." } as const;
  return keys.flatMap((key) => changed({ was: before, is: after, path }, key, words));
}
