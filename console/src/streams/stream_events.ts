/** The events of one stream, loaded in pages when they are needed, and kept. */

import { type ReadonlySignal, signal } from "@preact/signals";
import type { AnyTypes, Client, EventEntry, Refusal } from "@daybook/client";

export type Entry = EventEntry<AnyTypes["aggregates"][string]["events"]>;

export interface StreamEvents {
  readonly refusal: ReadonlySignal<Refusal | undefined>;
  /** Undefined as long as it is not loaded; a component that asks is drawn again once it is. */
  at(index: number): Entry | undefined;
  /** Loads what is missing of these events. */
  need(first: number, last: number): void;
  /**
   * Resolves when the first `count` events are there; false if they could not be loaded, or if all
   * that is kept is more than `charactersMax` characters of JSON.
   */
  loadFirst(count: number, charactersMax: number): Promise<boolean>;
  /** Ends what is being loaded. */
  stop(): void;
}

const PAGE_EVENTS = 500;
const PAGES_AT_ONCE = 4;

/** An event's id is its index in twelve digits. */
export function idOfEvent(index: number): string {
  return String(index).padStart(12, "0");
}

export function openStreamEvents(db: Client, type: string, id: string): StreamEvents {
  const pages = new Map<number, readonly Entry[]>();
  const underWay = new Map<number, Promise<boolean>>();
  /** Of the JSON of all pages. */
  let characters = 0;
  /** Rises with every page that has come. */
  const version = signal(0);
  const refusal = signal<Refusal | undefined>(undefined);
  const ending = new AbortController();

  function load(page: number): Promise<boolean> {
    if (pages.has(page)) return Promise.resolve(true);
    const known = underWay.get(page);
    if (known !== undefined) return known;
    const loading = loadPage(page).finally(() => underWay.delete(page));
    underWay.set(page, loading);
    return loading;
  }

  async function loadPage(page: number): Promise<boolean> {
    const first = page * PAGE_EVENTS;
    const events: Entry[] = [];
    // The server ends a page early where its bytes would be too many.
    while (events.length < PAGE_EVENTS) {
      const before = first + events.length - 1;
      const answer = await db[type]!(id).eventsPage({
        start: before < 0 ? undefined : idOfEvent(before),
        count: PAGE_EVENTS - events.length,
        signal: ending.signal,
      });
      if (ending.signal.aborted) return false;
      if (!answer.ok) {
        refusal.value = answer as Refusal;
        return false;
      }
      events.push(...answer.data);
      if (!answer.truncated || answer.data.length === 0) break;
    }
    pages.set(page, events);
    characters += JSON.stringify(events).length;
    version.value++;
    return true;
  }

  return {
    refusal,
    at(index) {
      void version.value;
      return pages.get(Math.floor(index / PAGE_EVENTS))?.[index % PAGE_EVENTS];
    },
    need(first, last) {
      const to = Math.floor(last / PAGE_EVENTS);
      for (let page = Math.floor(first / PAGE_EVENTS); page <= to; page++) void load(page);
    },
    async loadFirst(count, charactersMax) {
      for (let page = 0; page * PAGE_EVENTS < count; page += PAGES_AT_ONCE) {
        const last = Math.min(page + PAGES_AT_ONCE, Math.ceil(count / PAGE_EVENTS));
        const wanted = Array.from({ length: last - page }, (_, index) => load(page + index));
        if ((await Promise.all(wanted)).includes(false) || characters > charactersMax) return false;
      }
      return true;
    },
    stop: () => ending.abort(),
  };
}
