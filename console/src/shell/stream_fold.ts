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

export type Handlers = ReadonlyMap<string, Handler>;

/** The states of one stream, by how many of its events they are made of. */
export interface Timeline {
  /** Undefined where the server would refuse the fold. */
  stateAt(length: number): JsonObject | undefined;
  /** What `look` says of the states after `from`, `from + 1`, ... up to `to` events. */
  each<Seen>(from: number, to: number, look: (state: JsonObject | undefined) => Seen): Seen[];
}

/** A state is kept after each so many events; from the nearest one a step is short. */
export const KEPT_EVERY = 128;

/** The handlers of an aggregate type of a spec; undefined if one is a module, or not a handler. */
export function compileHandlers(aggregateType: unknown): Handlers | undefined {
  const events = memberOf(aggregateType, "events");
  if (typeof events !== "object" || events === null) return undefined;
  const handlers = new Map<string, Handler>();
  for (const [name, definition] of Object.entries(events)) {
    const handler = memberOf(definition, "handler");
    if (handler === undefined) continue;
    const compiled = compileHandler(handler as JsonValue, name);
    if (!compiled.ok) return undefined;
    handlers.set(name, compiled.handler);
  }
  return handlers;
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** `events`: from the first one on; more may be added to the list later. */
export function createTimeline(handlers: Handlers, events: readonly StoredEvent[]): Timeline {
  /** At `index`, the state after `index * KEPT_EVERY` events. */
  const kept: (JsonObject | undefined)[] = [{}];

  function foldOn(state: JsonObject, from: number, to: number): JsonObject | undefined {
    // Handlers may keep parts of an event in the state and change them later.
    const slice = structuredClone(events.slice(from, to));
    const folded = fold(handlers, structuredClone(state), slice, newFoldBudget());
    return folded.ok ? folded.value : undefined;
  }

  function keptBefore(length: number): JsonObject | undefined {
    const wanted = Math.floor(length / KEPT_EVERY);
    while (kept.length <= wanted) {
      const from = (kept.length - 1) * KEPT_EVERY;
      const last = kept.at(-1);
      kept.push(last === undefined ? undefined : foldOn(last, from, from + KEPT_EVERY));
    }
    return kept[wanted];
  }

  return {
    stateAt(length) {
      const state = keptBefore(length);
      if (state === undefined) return undefined;
      return foldOn(state, Math.floor(length / KEPT_EVERY) * KEPT_EVERY, length);
    },
    each(from, to, look) {
      let state = this.stateAt(from);
      const seen = [look(state)];
      for (let length = from; length < to; length++) {
        state = state === undefined ? undefined : foldOn(state, length, length + 1);
        seen.push(look(state));
      }
      return seen;
    },
  };
}
