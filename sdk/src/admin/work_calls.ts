/** What events set off: listeners and their deliveries, pending reactions, scheduled events. */

import type { Delivery } from "../core/wide_answers.ts";
import { callOf, type Refusal } from "../core/refusal.ts";
import type { CallOptions } from "../core/transport.ts";
import type { Admin, ReactionFilter } from "./calls.ts";
import type { InEnvironment, Operator } from "./operator.ts";

interface Replayed {
  readonly ok: true;
  readonly replayed: number;
  readonly truncated?: boolean;
  readonly next_start?: string;
}

interface Discarded {
  readonly ok: true;
  readonly discarded: Record<"implied" | "scheduled" | "saga", number>;
  readonly truncated?: boolean;
  readonly next_start?: string;
}

export function workCalls(
  operator: Operator,
): Pick<Admin, "listeners" | "reactions" | "scheduled"> {
  const { askInstance, askWithKey, lists } = operator;
  const deliveries = (name: string) =>
    lists<Delivery>("data", `/_listeners/${encodeURIComponent(name)}/deliveries`);
  const act = (action: string, options?: InEnvironment) =>
    askInstance<{ readonly ok: true; readonly paused: boolean }>("fields", {
      method: "POST",
      path: "/_admin/reactions",
      body: { action },
      options,
    });

  return {
    listeners: {
      ...lists("data", "/_listeners"),
      deliveries: (name, options) => deliveries(name).list(options),
      deliveriesPage: (name, options) => deliveries(name).listPage(options),
      replay: (name, which, options) => callOf(replayAll(operator, name, which, options)),
    },
    reactions: {
      pending: (options) => askInstance("fields", { path: "/_admin/reactions", options }),
      pause: (options) => act("pause", options),
      resume: (options) => act("resume", options),
      discard: (filter, options) => callOf(discardAll(operator, filter, options)),
    },
    scheduled: {
      ...lists("data", "/_scheduled"),
      get(id, options) {
        return askInstance("data", { path: `/_scheduled/${encodeURIComponent(id)}`, options });
      },
      cancel(id, options) {
        const path = `/_scheduled/${encodeURIComponent(id)}`;
        return askWithKey({ ...options, method: "DELETE", path });
      },
    },
  };
}

/** Asks again until nothing is left; the answer counts all of it. */
async function replayAll(
  { askWithKey }: Operator,
  name: string,
  which: object,
  options?: CallOptions,
): Promise<{ readonly ok: true; readonly replayed: number } | Refusal> {
  const path = `/_listeners/${encodeURIComponent(name)}/replay`;
  let replayed = 0;
  let start: string | undefined;
  for (;;) {
    const body = { ...which, start };
    const answer = await askWithKey<Replayed>({ ...options, method: "POST", path, body });
    if (!answer.ok) return answer;
    replayed += answer.replayed;
    if (!answer.truncated || answer.next_start === undefined) return { ok: true, replayed };
    start = answer.next_start;
  }
}

async function discardAll(
  { askInstance }: Operator,
  filter: ReactionFilter,
  options?: InEnvironment,
): Promise<Pick<Discarded, "ok" | "discarded"> | Refusal> {
  const discarded = { implied: 0, scheduled: 0, saga: 0 };
  let start: string | undefined;
  for (;;) {
    const body = { action: "discard", filter, start };
    const ask = { method: "POST", path: "/_admin/reactions", body, options } as const;
    const answer = await askInstance<Discarded>("fields", ask);
    if (!answer.ok) return answer;
    for (const kind of ["implied", "scheduled", "saga"] as const) {
      discarded[kind] += answer.discarded[kind] ?? 0;
    }
    if (!answer.truncated || answer.next_start === undefined) return { ok: true, discarded };
    start = answer.next_start;
  }
}
