/** Finds requests of erasure by stream and state, which the server lists by time only. */

import type { Page, Refusal } from "@daybook/client";
import type { Tombstone } from "@daybook/client/admin";

export interface ErasureFilter {
  /** Of one of these streams. */
  readonly streams?: readonly string[];
  readonly state?: Tombstone["state"];
}

const STATES: readonly string[] = ["pending", "running", "completed", "cancelled"];
/** So many pages are read at once before the user is asked whether to go on. */
const PAGES_AT_ONCE = 20;

export function isErasureState(text: string | undefined): text is Tombstone["state"] {
  return text !== undefined && STATES.includes(text);
}

/** The next page that has some; without a filter, the next page as it is. */
export async function findErasures(
  load: (start: string | undefined) => PromiseLike<Page<Tombstone> | Refusal>,
  filter: ErasureFilter,
  start: string | undefined,
): Promise<Page<Tombstone> | Refusal> {
  let page = await load(start);
  for (let read = 1; page.ok; read++) {
    const data = page.data.filter((one) => fits(one, filter));
    if (data.length > 0 || !page.truncated || read === PAGES_AT_ONCE) return { ...page, data };
    page = await load(page.next_start);
  }
  return page;
}

function fits({ key, state }: Tombstone, filter: ErasureFilter): boolean {
  return (filter.streams === undefined || filter.streams.includes(key)) &&
    (filter.state === undefined || filter.state === state);
}
