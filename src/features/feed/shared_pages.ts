/**
 * Pages that many live readers want at the same moment: each is read once. A page is shared until
 * the next change of its environment, so no reader gets an older one than was there when it was
 * woken. An erasure is such a change, too.
 */

import type { LogPlace } from "../../domain/feed/place.ts";
import type { FeedRequest } from "../../domain/feed/page.ts";
import type { Outcome } from "../../domain/refusal.ts";
import type { Seen } from "./follow_commits.ts";

export interface SharedPages<Page> {
  /** `name` says which page of the environment is meant. */
  read(tenant: number, name: string, read: ReadUntil<Page>): Promise<Outcome<Page>>;
}

/**
 * Reads nothing behind a place; undefined: all there is. A page of the feed ends where followers
 * were told that the log ends, so readers that are up to date are all at the same place, and want
 * the same page next.
 */
type ReadUntil<Page> = (until: LogPlace | undefined) => Promise<Outcome<Page>>;

/** Environments, and pages of one of them, that are held; others are shared while they are read. */
const TENANTS_MAX = 32;
const PAGES_MAX = 8;
/** A page with more characters is held only while it is read. */
const HELD_CHARACTERS_MAX = 128 * 1024;

interface Held<Page> {
  /** Changes of the environment up to which the pages were read. */
  readonly changes: number;
  readonly pages: Map<string, Promise<Outcome<Page>>>;
}

interface Entries {
  readonly entries: readonly { readonly raw: string }[];
  readonly isBuilding?: boolean;
}

/** `seen`: what followers were told of; undefined for an environment that nobody follows. */
export function openSharedPages<Page extends Entries>(
  seen: (tenant: number) => Seen | undefined,
): SharedPages<Page> {
  const held = new Map<number, Held<Page>>();

  /** Not while the past is filled in: the end of that is no change that followers are told of. */
  function isHeld(outcome: Outcome<Page>): boolean {
    if (!outcome.ok || outcome.value.isBuilding) return false;
    return charactersOf(outcome.value) <= HELD_CHARACTERS_MAX;
  }

  return {
    read(tenant, name, read) {
      const now = seen(tenant);
      if (now === undefined) return read(undefined);
      const { changes, place } = now;
      let one = held.get(tenant);
      if (one?.changes !== changes) {
        held.delete(tenant);
        one = { changes, pages: new Map() };
        held.set(tenant, one);
        if (held.size > TENANTS_MAX) held.delete(held.keys().next().value!);
      }
      const { pages } = one;
      const before = pages.get(name);
      if (before !== undefined) return before;
      const page = read(place);
      pages.set(name, page);
      page.then((outcome) => {
        if (pages.size > PAGES_MAX || !isHeld(outcome)) pages.delete(name);
      }, () => pages.delete(name));
      return page;
    },
  };
}

/** The characters of the events of a page. */
function charactersOf({ entries }: Pick<Entries, "entries">): number {
  return entries.reduce((sum, { raw }) => sum + raw.length, 0);
}

export function feedPageName({ from, types = "", limit, bytesMax = 0 }: FeedRequest): string {
  return `${from} ${limit} ${bytesMax} ${types}`;
}
