/** Cancels scheduled events by DELETE, also at the very moment when they fire: never both. */

import type { Api } from "./api.ts";
import { concurrently, type Life } from "./checks.ts";
import type { ReactionJournal, Removal } from "./reaction_journal.ts";

/** An entry of `GET /_scheduled`. */
export interface Scheduled {
  readonly scheduled_id: string;
  readonly fire_at: string;
  readonly data: { readonly token: string };
}

/** An event that fires within this time is waited for. */
const SOON_MS = 300;
/** DELETE comes at most this long after the due time: by then the event has usually fired. */
const LATE_MS_MAX = 8;

/** Rejects if the connection breaks: then the outcome is unknown. */
export async function removeScheduled(
  api: Api,
  { removals }: ReactionJournal,
  { scheduled_id, data: { token } }: Scheduled,
): Promise<string[]> {
  const removal: Removal = { outcome: "unknown" };
  removals.set(token, [...removals.get(token) ?? [], removal]);
  const status = await api.remove(`/_scheduled/${scheduled_id}`);
  if (status === 200) removal.outcome = "cancelled";
  else removals.set(token, removals.get(token)!.filter((other) => other !== removal));
  return status === 200 || status === 404 ? [] : [`DELETE of a scheduled event: ${status}`];
}

/** Cancels some of the events that fire soon, at the moment when they fire. */
export async function cancelWhileFiring(life: Life, journal: ReactionJournal): Promise<string[]> {
  const { data } = await life.api.get("/_scheduled?limit=200");
  const untilMs = Date.now() + SOON_MS;
  const soon = (data as Scheduled[]).filter(({ fire_at }) => Date.parse(fire_at) < untilMs)
    .filter(() => life.random.chance(0.5));
  return await concurrently(soon, async (scheduled) => {
    const atMs = Date.parse(scheduled.fire_at) + life.random.below(LATE_MS_MAX);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, atMs - Date.now())));
    return await removeScheduled(life.api, journal, scheduled);
  });
}
