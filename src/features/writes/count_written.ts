/** Counts what a transaction of writes has done, once it is known to have committed. */

import { count, countErrors, type Counters } from "../../domain/measures/counters.ts";
import type { Outcome } from "../../domain/refusal.ts";
import type { Written } from "../../domain/write/write.ts";
import { NOTHING_WRITTEN, type PreparedWrite } from "./prepared_write.ts";

/** `outcomes` are those of `writes`, in the same order. */
export function countWritten(
  counters: Counters,
  writes: readonly PreparedWrite[],
  outcomes: readonly Outcome<Written>[],
): void {
  let fromClients = 0;
  for (let index = 0; index < writes.length; index++) {
    const outcome = outcomes[index]!;
    if (!outcome.ok || outcome.value === NOTHING_WRITTEN) continue;
    if (outcome.value.replayed) {
      counters.writesReplayed++;
      continue;
    }
    const { cause, targets, errors } = writes[index]!;
    for (const { events } of targets) {
      if (cause === undefined) fromClients += events.length;
      else count(counters.eventsWritten, cause.origin, events.length);
    }
    const { direct } = outcome.value;
    if (direct !== undefined) count(counters.eventsWritten, "implied", direct);
    if (errors.length > 0) countErrors(counters, errors);
    const { rootErrors } = outcome.value;
    if (rootErrors !== undefined) countErrors(counters, rootErrors);
  }
  if (fromClients > 0) count(counters.eventsWritten, "client", fromClients);
}
