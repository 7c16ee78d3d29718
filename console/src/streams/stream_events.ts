/** The events of one stream, loaded in pages when they are needed, of which the newest are kept. */

import { type ReadonlySignal, signal } from "@preact/signals";
import type { AnyTypes, Client, EventEntry, Refusal } from "@daybook/client";
import { callsOf } from "../shell/settled.ts";
import { startBefore } from "../shell/event_id.ts";

export type Entry = EventEntry<AnyTypes["aggregates"][string]["events"]>;

export interface StreamEvents {
  readonly refusal: ReadonlySignal<Refusal | undefined>;
  /**
   * Undefined as long as it is not loaded, and again when it was not needed for long; a component
   * that asks is drawn again once it is there.
   */
  at(index: number): Entry | undefined;
  /** Loads what is missing of these events. */
  need(first: number, last: number): void;
  /**
   * Resolves when the first `count` events are there, and they stay; false if they could not be
   * loaded, or if all that is kept is more than `charactersMax` characters of JSON.
   */
  loadFirst(count: number, charactersMax: number): Promise<boolean>;
  /** Ends what is being loaded. */
  stop(): void;
}

const PAGE_EVENTS = 500;
const PAGES_AT_ONCE = 4;
/** Of those that are needed one after the other, so many are kept, with so much JSON. */
const PAGES_KEPT_MAX = 40;
const CHARACTERS_KEPT_MAX = 64 * 1024 * 1024;
/** However large they are, for what is visible is among them. */
const PAGES_SPARED = 4;

/** How many of the first `count` events of a stream stand in the page. */
function countIn(page: number, count: number): number {
  return Math.min(PAGE_EVENTS, count - page * PAGE_EVENTS);
}

interface LoadedPage {
  readonly events: readonly Entry[];
  /** Of their JSON. */
  readonly characters: number;
}

const NOTHING: LoadedPage = { events: [], characters: 0 };

export function openStreamEvents(db: Client, type: string, id: string): StreamEvents {
  /** What was needed last stands last. */
  const pages = new Map<number, LoadedPage>();
  const underWay = new Map<number, Promise<void>>();
  /** Of the JSON of all pages. */
  let characters = 0;
  /** So many pages of the beginning are not dropped. */
  let pagesHeld = 0;
  /** Rises with every page that has come. */
  const version = signal(0);
  const refusal = signal<Refusal | undefined>(undefined);
  const ending = new AbortController();

  function loaded(page: number): LoadedPage {
    return pages.get(page) ?? NOTHING;
  }

  /** Drops the pages that were not needed for longest. */
  function drop(): void {
    for (const page of [...pages.keys()].slice(0, -PAGES_SPARED)) {
      if (pages.size <= PAGES_KEPT_MAX && characters <= CHARACTERS_KEPT_MAX) return;
      if (page < pagesHeld) continue;
      characters -= loaded(page).characters;
      pages.delete(page);
    }
  }

  /** Resolves to whether the first `count` events of the page are there. */
  async function load(page: number, count: number): Promise<boolean> {
    // The last page of a stream grows, so what was all of it once may be too little now.
    if (loaded(page).events.length >= count) return true;
    const loading = underWay.get(page) ?? loadPage(page).finally(() => underWay.delete(page));
    underWay.set(page, loading);
    await loading;
    return loaded(page).events.length >= count;
  }

  async function loadPage(page: number): Promise<void> {
    const first = page * PAGE_EVENTS;
    const before = loaded(page);
    const events: Entry[] = [...before.events];
    // The server ends a page early where its bytes would be too many.
    while (events.length < PAGE_EVENTS) {
      const answer = await callsOf(db, type)(id).eventsPage({
        start: startBefore(first + events.length),
        count: PAGE_EVENTS - events.length,
        signal: ending.signal,
      });
      if (ending.signal.aborted) return;
      if (!answer.ok) {
        refusal.value = answer as Refusal;
        return;
      }
      events.push(...answer.data);
      if (!answer.truncated || answer.data.length === 0) break;
    }
    const added = JSON.stringify(events.slice(before.events.length)).length;
    characters += before.characters + added - loaded(page).characters;
    pages.set(page, { events, characters: before.characters + added });
    refusal.value = undefined;
    version.value++;
  }

  return {
    refusal,
    at(index) {
      void version.value;
      return loaded(Math.floor(index / PAGE_EVENTS)).events[index % PAGE_EVENTS];
    },
    need(first, last) {
      const [from, to] = [Math.floor(first / PAGE_EVENTS), Math.floor(last / PAGE_EVENTS)];
      for (let page = from; page <= to; page++) {
        const known = loaded(page);
        pages.delete(page);
        pages.set(page, known);
        void load(page, countIn(page, last + 1)).then(drop);
      }
    },
    async loadFirst(count, charactersMax) {
      pagesHeld = Math.ceil(count / PAGE_EVENTS);
      for (let page = 0; page * PAGE_EVENTS < count; page += PAGES_AT_ONCE) {
        const last = Math.min(page + PAGES_AT_ONCE, Math.ceil(count / PAGE_EVENTS));
        const wanted = Array.from(
          { length: last - page },
          (_, index) => load(page + index, countIn(page + index, count)),
        );
        if ((await Promise.all(wanted)).includes(false) || characters > charactersMax) {
          pagesHeld = 0;
          return false;
        }
      }
      return true;
    },
    stop: () => ending.abort(),
  };
}
