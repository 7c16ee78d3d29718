/**
 * Folds events step by step, with the handlers of a type: those of the spec's own language here, in
 * one go, and those that are modules in their processes. A type without modules never waits.
 */

import type { Budget } from "../domain/budget.ts";
import type { StoredEvent } from "../domain/event.ts";
import { newFoldBudget } from "../domain/handler/budget.ts";
import { fold } from "../domain/handler/fold.ts";
import { encodeState } from "../domain/handler/state_text.ts";
import type { JsonObject } from "../domain/json.ts";
import { limits } from "../domain/limits.ts";
import { accept, type Outcome, type Refusal, refuse } from "../domain/refusal.ts";
import type { CompiledAggregateType } from "../domain/spec/compiled.ts";
import type { CallPurpose } from "../domain/wasm/trace.ts";
import type { ModuleEvent, ModuleRunner } from "./run_modules.ts";

/** Events, and beside them the texts they were decoded from. */
export interface FoldEvents {
  readonly events: readonly StoredEvent[];
  readonly stored: readonly { readonly raw: string }[];
}

export type Folded =
  | { readonly ok: true }
  /** `index`: which of the events taken it was, where it is known. */
  | { readonly ok: false; readonly refusal: Refusal; readonly index?: number };

/** A state while events are folded into it. After a refusal it is of no use. */
export interface Folding {
  take(events: FoldEvents, budget?: Budget): Folded | Promise<Folded>;
  /** The state as JSON text, refused when it is larger than a state may be. */
  stateJson(): Outcome<string>;
}

const FOLDED: Folded = { ok: true };

/** `base`: the state to begin with, as JSON text; undefined: the empty one. */
export function beginFold(
  modules: ModuleRunner,
  tenant: number,
  type: CompiledAggregateType,
  base: string | undefined,
  purpose: CallPurpose,
): Folding {
  return type.wasmHandlers.size === 0
    ? foldHere(type, base)
    : foldWithModules(modules, tenant, type, base, purpose);
}

function foldHere({ handlers }: CompiledAggregateType, base: string | undefined): Folding {
  let state: JsonObject = base === undefined ? {} : JSON.parse(base);
  return {
    take({ events }, budget = newFoldBudget()) {
      const folded = fold(handlers, state, events, budget);
      if (!folded.ok) return folded;
      state = folded.value;
      return FOLDED;
    },
    stateJson: () => encodeState(state),
  };
}

/** Folds events of a type without modules in one go; gives the state as a value and as its text. */
export function foldAtOnce(
  { handlers }: CompiledAggregateType,
  base: string | undefined,
  events: readonly StoredEvent[],
): Outcome<{ readonly state: JsonObject; readonly stateJson: string }> {
  const before: JsonObject = base === undefined ? {} : JSON.parse(base);
  const folded = fold(handlers, before, events, newFoldBudget());
  if (!folded.ok) return folded;
  const state = folded.value;
  const text = encodeState(state);
  return text.ok ? accept({ state, stateJson: text.value }) : text;
}

/** The state is a text while modules have it and a value while handlers of the language do. */
function foldWithModules(
  modules: ModuleRunner,
  tenant: number,
  { handlers, wasmHandlers, blobs }: CompiledAggregateType,
  base: string | undefined,
  purpose: CallPurpose,
): Folding {
  let text: string | undefined = base ?? "{}";
  let value: JsonObject = {};

  function stateJson(): Outcome<string> {
    return text === undefined ? encodeState(value) : accept(text);
  }

  function takeHere(events: readonly StoredEvent[], budget: Budget): Folded {
    if (text !== undefined) value = JSON.parse(text);
    text = undefined;
    const folded = fold(handlers, value, events, budget);
    if (!folded.ok) return folded;
    value = folded.value;
    return FOLDED;
  }

  async function takeThere(events: readonly ModuleEvent[]): Promise<Folded> {
    const state = stateJson();
    if (!state.ok) return state;
    const folded = await modules.fold(tenant, purpose, blobs, state.value, events);
    if (!folded.ok) return { ok: false, refusal: folded.refusal, index: folded.eventIndex };
    text = folded.value;
    return FOLDED;
  }

  async function take(
    { events, stored }: FoldEvents,
    budget: Budget = newFoldBudget(),
  ): Promise<Folded> {
    // Events that nothing handles break no run.
    const handled = events.map((event, index) => {
      return { event, raw: stored[index]!.raw, index, call: wasmHandlers.get(event.type) };
    }).filter(({ event, call }) => call !== undefined || handlers.has(event.type));
    for (let at = 0, end = 0; at < handled.length; at = end) {
      const isThere = handled[at]!.call !== undefined;
      while (end < handled.length && (handled[end]!.call !== undefined) === isThere) end++;
      const run = handled.slice(at, end);
      const folded = isThere
        ? await takeThere(run.map(({ event: { type }, raw, call }) => ({ call: call!, type, raw })))
        : takeHere(run.map(({ event }) => event), budget);
      if (folded.ok) continue;
      const { refusal, index } = folded;
      return index === undefined ? folded : { ok: false, ...describe(refusal, run[index]!) };
    }
    return FOLDED;
  }

  return { take, stateJson };
}

/** Says at which event a module was stopped. */
function describe(refusal: Refusal, { event, index }: { event: StoredEvent; index: number }) {
  if (refusal.kind !== "module_failed") return { refusal, index };
  const { key: event_key, type: event_type } = event;
  return { refusal: { ...refusal, context: { ...refusal.context, event_key, event_type } }, index };
}

/** Modules have taken longer than one request may. */
export function refuseSlowModules(bytes: number) {
  const message = `The WebAssembly handlers took more than the ${limits.wasmRequestMsMax} ms of ` +
    "one request. What a read has folded is kept: the next one goes on there";
  return refuse({ kind: "fold_budget_exceeded", message, bytes, limit: limits.foldBytesMax });
}
