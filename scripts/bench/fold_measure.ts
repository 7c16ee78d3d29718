/** Measures the handler language's fold alone: no HTTP, no store, no parsing. */

import { newFoldBudget } from "../../src/domain/handler/budget.ts";
import { compileHandler } from "../../src/domain/handler/compile_handler.ts";
import { fold } from "../../src/domain/handler/fold.ts";
import type { StoredEvent } from "../../src/domain/event.ts";
import { BENCH_SPEC, eventData, streamId } from "./requests.ts";

const EVENTS = 100_000;
const TURNS = 9;

/** Events per second, the median of several turns. */
export function measureFold(): number {
  const definition = BENCH_SPEC.aggregate_types.account.events.was_credited.handler;
  const compiled = compileHandler(JSON.parse(JSON.stringify(definition)), "handler");
  if (!compiled.ok) throw new Error(`the handler of the bench: ${JSON.stringify(compiled)}`);
  const handlers = new Map([["was_credited", compiled.handler]]);
  const events: StoredEvent[] = Array.from({ length: EVENTS }, (_, number) => ({
    key: `account:${streamId(1)}`,
    type: "was_credited",
    data: JSON.parse(eventData(number)),
    metadata: { actor: { type: "person", id: streamId(2) }, timestamp: 1_700_000_000 + number },
  }));
  const rates: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const startedAt = performance.now();
    const outcome = fold(handlers, {}, events, newFoldBudget());
    rates.push(EVENTS / (performance.now() - startedAt) * 1000);
    const isRight = outcome.ok && outcome.value.bookings === EVENTS;
    if (!isRight) {
      throw new Error(`the fold of the bench: ${JSON.stringify(outcome).slice(0, 300)}`);
    }
  }
  return rates.sort((a, b) => a - b)[TURNS >> 1]!;
}
