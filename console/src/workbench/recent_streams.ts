/** Which streams of a type have had an event of one kind last. */

import type { Client, Refusal } from "@daybook/client";

export interface RecentStreams {
  readonly ok: true;
  /** Their ids, the one that has had such an event last first. */
  readonly ids: readonly string[];
  /** How many such events were looked at. */
  readonly events: number;
  /** Whether there are more of them, newer ones. */
  readonly isCut: boolean;
}

/** The feed runs from the first event on, so its end is reached by reading all such events. */
const PAGE_EVENTS = 1_000;
const PAGES_MAX = 10;

export async function readRecentStreams(
  db: Pick<Client, "$feedPage">,
  { type, event, count }: { readonly type: string; readonly event: string; readonly count: number },
  signal: AbortSignal,
): Promise<RecentStreams | Refusal> {
  /** The last one to have such an event is the last of the set. */
  const last = new Set<string>();
  const types = [`${type}.${event}`];
  let [events, from, isCut] = [0, "start", true];
  for (let page = 0; page < PAGES_MAX && isCut; page++) {
    const answer = await db.$feedPage({ types, from, limit: PAGE_EVENTS, signal });
    if (!answer.ok) return answer as Refusal;
    for (const { event: { key } } of answer.data) {
      last.delete(key);
      last.add(key);
    }
    for (const { key } of answer.erased ?? []) last.delete(key);
    events += answer.data.length;
    from = answer.next;
    isCut = !answer.up_to_date;
  }
  const ids = [...last].slice(-count).reverse().map((key) => key.slice(type.length + 1));
  return { ok: true, ids, events, isCut };
}
