/**
 * Warns of sagas that may start one another without end.
 *
 * Only types written as plain names are followed. At run time the depth of chained events is
 * limited in any case.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { type FaultList, joinKey } from "../fault_list.ts";

/** Gives one warning for each saga from which a chain of triggers leads back to itself. */
export function warnOfSagaCycles(sagas: JsonObject, path: string, warnings: FaultList): void {
  const next = new Map<string, readonly string[]>();
  const triggered = groupByTrigger(sagas);
  for (const [name, saga] of Object.entries(sagas)) {
    next.set(name, emittedTypes(saga).flatMap((type) => triggered.get(type) ?? []));
  }
  for (const name of next.keys()) {
    const chain = findChain(name, next);
    if (chain === undefined) continue;
    warnings.add(
      "saga_cycle",
      joinKey(path, name),
      `Saga "${name}" may start itself again: ${chain.join(" -> ")}.`,
      "Give a trigger a condition that ends the circle; it is cut off after eight rounds.",
    );
  }
}

function groupByTrigger(sagas: JsonObject): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [name, saga] of Object.entries(sagas)) {
    const trigger = isJsonObject(saga) ? saga.trigger : undefined;
    const type = nameOf(trigger);
    if (type !== undefined) groups.set(type, [...groups.get(type) ?? [], name]);
  }
  return groups;
}

function emittedTypes(saga: JsonValue): string[] {
  const steps = isJsonObject(saga) && Array.isArray(saga.steps) ? saga.steps : [];
  const types = new Set<string>();
  for (const step of steps) {
    if (!isJsonObject(step)) continue;
    for (const emission of [step.emit, step.compensate]) {
      const type = nameOf(emission);
      if (type !== undefined) types.add(type);
    }
  }
  return [...types];
}

/** `order.was_placed` for `{aggregate_type: "order", event_type: "was_placed"}`. */
function nameOf(value: JsonValue | undefined): string | undefined {
  if (!isJsonObject(value)) return undefined;
  const { aggregate_type: aggregateType, event_type: eventType } = value;
  if (typeof aggregateType !== "string" || typeof eventType !== "string") return undefined;
  return `${aggregateType}.${eventType}`;
}

/** The shortest chain from `start` back to it, including both ends. */
function findChain(
  start: string,
  next: ReadonlyMap<string, readonly string[]>,
): string[] | undefined {
  const from = new Map<string, string>();
  const waiting = [start];
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    for (const follower of next.get(name) ?? []) {
      if (follower === start) return [...wayTo(name, start, from), start];
      if (from.has(follower)) continue;
      from.set(follower, name);
      waiting.push(follower);
    }
  }
  return undefined;
}

function wayTo(name: string, start: string, from: ReadonlyMap<string, string>): string[] {
  const way = [name];
  while (way[0] !== start) way.unshift(from.get(way[0]!)!);
  return way;
}
