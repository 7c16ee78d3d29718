/**
 * Finds what a permitted deploy cuts off, and reports it by name, in dry runs too. These are
 * aggregates whose singleton is removed, writers whose actor or target type is removed, and
 * projections that would read something that is gone.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { compileProjection } from "../../domain/projection/compile.ts";
import type { Violation } from "../../domain/refusal.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import { joinKey, shorten } from "../../domain/spec/fault_list.ts";
import { streamKey } from "../../domain/stream_key.ts";
import type { ReadTransaction } from "../../kv/engine.ts";
import { listProjections, newestVersion } from "../../store/projections/projections.ts";
import { readHead } from "../../store/streams/streams.ts";

/** Streams of removed singletons that one deploy looks up, and how many a warning names. */
const STREAMS_MAX = 500;
const NAMED_MAX = 5;

/** What `after` cuts off that existed under `before`; at most `limits.violationsMax` entries. */
export async function findCuts(
  tx: ReadTransaction,
  tenant: number,
  before: JsonObject,
  after: CompiledSpec,
): Promise<Violation[]> {
  const broken = await findBrokenProjections(tx, tenant, after);
  const singletons = await findCutSingletons(tx, tenant, before, after);
  const parties = [
    ...removed(before.agent_types, after.document.agent_types).map(cutActors),
    ...removed(before.target_types, after.document.target_types).map(cutTargets),
  ];
  return [...broken, ...singletons, ...parties].slice(0, limits.violationsMax);
}

function removed(before: JsonValue | undefined, after: JsonValue | undefined): string[] {
  const kept = new Set(namesIn(after));
  return namesIn(before).filter((name) => !kept.has(name)).slice(0, limits.violationsMax);
}

function namesIn(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}

async function findBrokenProjections(
  tx: ReadTransaction,
  tenant: number,
  spec: CompiledSpec,
): Promise<Violation[]> {
  const found: Violation[] = [];
  for (const record of await listProjections(tx, tenant)) {
    if (record.isDeleted || record.broken !== undefined) continue;
    const compiled = compileProjection(newestVersion(record).document, spec, "store");
    const fault = compiled.ok ? undefined : compiled.violations[0];
    if (fault === undefined) continue;
    found.push({
      rule: "projection_broken",
      path: joinKey("projections", record.name),
      message: `Projection "${record.name}" breaks: ${fault.path}: ${fault.message}`,
      hint: "Keep what it reads; or deploy a projection of that name that does without it, or " +
        "delete it. Until then its reads are 503, but with stale=true.",
    });
  }
  return found;
}

async function findCutSingletons(
  tx: ReadTransaction,
  tenant: number,
  before: JsonObject,
  { document }: CompiledSpec,
): Promise<Violation[]> {
  const types = isJsonObject(before.aggregate_types) ? Object.keys(before.aggregate_types) : [];
  const found: Violation[] = [];
  let left = STREAMS_MAX;
  for (const name of removed(before.singletons, document.singletons)) {
    const asked = types.slice(0, left);
    left -= asked.length;
    const streams = asked.map((type) => streamKey(type, name));
    const heads = await Promise.all(streams.map((stream) => readHead(tx, tenant, stream)));
    const cut = streams.flatMap((stream, index) => {
      const { length } = heads[index]!;
      return length === 0 ? [] : [`${stream} (${length} ${length === 1 ? "event" : "events"})`];
    });
    found.push(cutSingleton(name, cut, asked.length === types.length));
  }
  return found;
}

function cutSingleton(name: string, streams: readonly string[], isWhole: boolean): Violation {
  const named = streams.slice(0, NAMED_MAX).join(", ");
  const more = streams.length - NAMED_MAX;
  const rest = `${more > 0 ? ` and ${more} more` : ""}${isWhole ? "" : " and maybe others"}`;
  const lost = streams.length > 0
    ? `${named}${rest} can no longer be read or written`
    : isWhole
    ? "no aggregate of that id has events"
    : "its aggregates, if it has any, can no longer be read or written";
  return {
    rule: "singleton_removed",
    path: "singletons",
    message: `Singleton "${shorten(name)}" is removed: ${lost}, and it is no actor or target id.`,
    hint: "Declare it as long as it is used; declared again, its aggregates are there again.",
  };
}

function cutActors(name: string): Violation {
  return {
    rule: "agent_type_removed",
    path: "agent_types",
    message: `Agent type "${shorten(name)}" is removed: writes of its actors are refused.`,
    hint: "Keep it until nobody writes with metadata.actor.type of that name.",
  };
}

function cutTargets(name: string): Violation {
  return {
    rule: "target_type_removed",
    path: "target_types",
    message: `Target type "${shorten(name)}" is removed: writes with such a target are refused.`,
    hint: "Keep it until nobody writes with metadata.target.type of that name.",
  };
}
