/**
 * Folds a stream in the browser as the server does, by the server's own handler language, so that
 * every length of it can be looked at without asking. Streams whose handlers are WebAssembly
 * modules cannot be folded here.
 */

import type { StoredEvent } from "../../../src/domain/event.ts";
import { newFoldBudget } from "../../../src/domain/handler/budget.ts";
import { compileHandler } from "../../../src/domain/handler/compile_handler.ts";
import { fold } from "../../../src/domain/handler/fold.ts";
import type { Handler } from "../../../src/domain/handler/handler.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { ownMember } from "./own_member.ts";

export type Handlers = ReadonlyMap<string, Handler>;

/** A state as it was at some length; undefined where the server would refuse the fold. */
export type State = JsonObject | undefined;

/** The states of one stream, by how many of its events they are made of. */
export interface Timeline {
  /** States share what they have in common: what is the same object is the same value. */
  stateAt(length: number): State;
  /** Folds all events, in pieces of a few milliseconds. Until then `stateAt` may take long. */
  prepare(): Generator<void, void>;
  /** The greatest length before `length` whose state is kept; `length` is at least 1. */
  keptBefore(length: number): number;
  /** The states after `from`, `from + 1`, ... and `to` events, one by one. */
  statesBetween(from: number, to: number): Generator<State>;
}

/** The handlers of an aggregate type of a spec; undefined if one is a module, or not a handler. */
export function compileHandlers(aggregateType: unknown): Handlers | undefined {
  const events = ownMember(aggregateType, "events");
  if (typeof events !== "object" || events === null) return undefined;
  const handlers = new Map<string, Handler>();
  for (const [name, definition] of Object.entries(events)) {
    const handler = ownMember(definition, "handler");
    if (handler === undefined) continue;
    const compiled = compileHandler(handler as JsonValue, name);
    if (!compiled.ok) return undefined;
    handlers.set(name, compiled.handler);
  }
  return handlers;
}

/** A state is kept after each so many events, or more where that copies much. */
const KEPT_EVERY = 128;
/** For so many members that a kept state does not share, the next one is an event further. */
const MEMBERS_PER_EVENT = 64;
/** Members of all kept states together; beyond that, every second of them is forgotten. */
const KEPT_MEMBERS_MAX = 2_000_000;
/** The states that were asked for last, for the next step is mostly a neighbour. */
const RECENT_STATES = 4;

interface Place {
  readonly length: number;
  readonly state: State;
}

interface Kept extends Place {
  /** Members of its arrays and objects that it shares with no state before it. */
  readonly members: number;
}

/** `events`: from the first one on; more may be added to the list later. */
export function createTimeline(handlers: Handlers, events: readonly StoredEvent[]): Timeline {
  let kept: Kept[] = [{ length: 0, state: {}, members: 0 }];
  let recent: Place[] = [];
  let distance = KEPT_EVERY;
  /** Arrays and objects that the fold under way may change: not those of states that are kept. */
  let owned = new WeakSet();
  const copying = new Map(
    [...handlers].map(([type, handler]): [string, Handler] => [
      type,
      (state, event, budget) => handler(state, event, budget, owned),
    ]),
  );

  function foldOn({ length: from, state }: Place, to: number): Place {
    if (state === undefined || from === to) return { length: to, state };
    owned = new WeakSet();
    const folded = fold(copying, state, events.slice(from, to), newFoldBudget());
    return { length: to, state: folded.ok ? folded.value : undefined };
  }

  function keepNext(): void {
    const last = kept.at(-1)!;
    const next = Math.max(distance, Math.ceil(last.members / MEMBERS_PER_EVENT));
    const place = foldOn(last, Math.min(events.length, last.length + next));
    kept.push({ ...place, members: membersBeside(last.state, place.state) });
    if (sumOf(kept) <= KEPT_MEMBERS_MAX) return;
    kept = thinned(kept);
    distance *= 2;
  }

  function nearestBefore(length: number): Place {
    while (kept.at(-1)!.length < Math.min(length, events.length)) keepNext();
    return recent.reduce(
      (best, each) => each.length <= length && each.length > best.length ? each : best,
      kept[lastUpTo(kept, length)] as Place,
    );
  }

  return {
    stateAt(length) {
      const found = foldOn(nearestBefore(length), length);
      recent = [found, ...recent.filter((each) => each.length !== length)].slice(0, RECENT_STATES);
      return found.state;
    },
    *prepare() {
      for (; kept.at(-1)!.length < events.length; keepNext()) yield;
    },
    keptBefore: (length) => kept[lastUpTo(kept, length - 1)]!.length,
    *statesBetween(from, to) {
      for (let at = foldOn(nearestBefore(from), from);; at = foldOn(at, at.length + 1)) {
        yield at.state;
        if (at.length >= to) return;
      }
    },
  };
}

/** Index of the last state of at most `length` events. */
function lastUpTo(kept: readonly Kept[], length: number): number {
  let low = 0;
  for (let high = kept.length - 1; low < high;) {
    const middle = Math.ceil((low + high) / 2);
    if (kept[middle]!.length <= length) low = middle;
    else high = middle - 1;
  }
  return low;
}

function sumOf(kept: readonly Kept[]): number {
  return kept.reduce((sum, { members }) => sum + members, 0);
}

/** Without every second state, but with the first and the last one. */
function thinned(kept: readonly Kept[]): Kept[] {
  return kept.filter((_, index) => index % 2 === 0 || index === kept.length - 1);
}

/** Members, at all levels, of the arrays and objects that `state` does not share with `before`. */
function membersBeside(before: unknown, state: unknown): number {
  if (typeof state !== "object" || state === null || state === before) return 0;
  const names = Object.keys(state);
  // Where elements were removed from a list, the others are the same at other places.
  const moved = Array.isArray(state) && Array.isArray(before) ? new Set(before) : undefined;
  return names.reduce((sum, name) => {
    const member = ownMember(state, name);
    return moved?.has(member) ? sum : sum + membersBeside(ownMember(before, name), member);
  }, names.length);
}
