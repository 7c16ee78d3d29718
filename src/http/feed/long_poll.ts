/** A long poll: a read that is repeated until it has something. See docs/reference/feed.md. */

import type { AggregateName } from "../../domain/reading.ts";
import { gateOf } from "../../domain/fairness/owner_gate.ts";
import { type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Follower } from "../../features/feed/follow_commits.ts";
import type { TailPage } from "../../features/feed/read_tail.ts";
import type { Call, Edge } from "../call.ts";
import { authenticateHolder } from "../middleware/authenticate.ts";
import { liveBytesOf, liveCount, NO_PLACE } from "./live_count.ts";
import { openLiveTurn } from "./live_turn.ts";

const MS_PER_SECOND = 1000;
/** A page of a store that is still being filled in is looked for this often. */
const BUILDING_PAUSE_MS = 250;

export interface LongPoll<T> {
  readonly waitSeconds: number;
  /** Begins before the first read, so that nothing is missed. */
  readonly follow: () => Follower;
  readonly read: () => Promise<Outcome<T>>;
  /**
   * What to do with what was read: answer with it, read on at once, wait for a commit, or pause for
   * a moment.
   */
  readonly next: (value: T) => "answer" | "read" | "wait" | "pause";
}

/** The last that was read: something, or nothing once the wait is over. */
export async function pollLong<T>(
  edge: Edge,
  call: Call,
  { waitSeconds, follow, read, next }: LongPoll<T>,
): Promise<Outcome<T>> {
  const bytes = liveBytesOf(call.request);
  if (!liveCount.enter(call.owner, bytes)) return refuse(NO_PLACE);
  // It waits and does nothing, so it is not under way for those who come.
  call.stepOut?.();
  const turn = openLiveTurn(edge, call, follow());
  const endMs = call.host.monotonicMs() + waitSeconds * MS_PER_SECOND;
  try {
    for (;;) {
      const outcome = await read();
      const todo = outcome.ok ? next(outcome.value) : "answer";
      if (todo === "answer") {
        // One commit may wake thousands, and those that share what is read have it together.
        await gateOf(edge.service, call.host).enter(call.owner);
        return await checked(edge, call, outcome);
      }
      const leftMs = endMs - call.host.monotonicMs();
      if (leftMs <= 0 || turn.isStopping() || call.request.signal.aborted) return outcome;
      if (todo === "pause") await turn.wait(Math.min(leftMs, BUILDING_PAUSE_MS));
      else if (todo === "wait") await turn.wait(leftMs);
    }
  } finally {
    turn.end();
    liveCount.leave(call.owner, bytes);
  }
}

/** What is asked of a stream that is waited for. */
export interface StreamPoll {
  readonly name: AggregateName;
  /** The id of an event, as sent. */
  readonly start?: string;
  readonly waitSeconds: number;
  readonly isReady: (page: TailPage) => boolean;
}

/** How far a stream is, without its events: as soon as it is ready, or when the wait is over. */
export async function pollStream(
  edge: Edge,
  call: Call,
  tenant: Tenant,
  { name, start, waitSeconds, isReady }: StreamPoll,
): Promise<Outcome<TailPage>> {
  const { feed } = edge.service;
  const key = await feed.locate(tenant, name);
  if (!key.ok) return key;
  return await pollLong(edge, call, {
    waitSeconds,
    follow: () => feed.follow(tenant, key.value),
    read: () => feed.readTail(tenant, { ...name, start }),
    next: (page) => isReady(page) ? "answer" : "wait",
  });
}

/** What was read, if the credential still opens the environment after the wait. */
async function checked<T>(edge: Edge, call: Call, outcome: Outcome<T>): Promise<Outcome<T>> {
  const header = call.request.headers.get("authorization");
  const holder = await authenticateHolder(edge.service.access, header, call, "read");
  return holder.ok ? outcome : holder;
}
