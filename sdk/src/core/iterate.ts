/** Iterators that end at once when their consumer leaves, even while they wait for the server. */

import type { Page } from "./answers.ts";
import { orThrow, type Refusal } from "./refusal.ts";

/**
 * An iterator over what `produce` yields. `return()` aborts the signal that `produce` gets, and so
 * its request; an async generator alone would wait for the next item first.
 */
export function iterate<Item>(
  outer: AbortSignal | undefined,
  produce: (signal: AbortSignal) => AsyncGenerator<Item, void>,
): AsyncIterableIterator<Item, void> {
  const controller = new AbortController();
  const onAbort = () => controller.abort(outer!.reason);
  if (outer?.aborted) onAbort();
  outer?.addEventListener("abort", onAbort);
  const inner = produce(controller.signal);
  let isOver = false;

  function end(): IteratorReturnResult<void> {
    isOver = true;
    outer?.removeEventListener("abort", onAbort);
    controller.abort();
    return { done: true, value: undefined };
  }

  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      if (isOver) return end();
      try {
        const result = await inner.next();
        return isOver || result.done ? end() : result;
      } catch (error) {
        const isLeft = isOver;
        end();
        if (isLeft) return end();
        throw error;
      }
    },
    async return() {
      end();
      await inner.return();
      return end();
    },
  };
}

/** The items of every page of a list, each page asked for when its first item is wanted. */
export function itemsOf<Item>(
  { signal, start }: { readonly signal?: AbortSignal; readonly start?: string },
  readPage: (
    place: { readonly start?: string; readonly signal: AbortSignal },
  ) => Promise<Page<Item> | Refusal>,
): AsyncIterableIterator<Item, void> {
  return iterate(signal, async function* (signal) {
    let next = start;
    do {
      const page: Page<Item> = orThrow(await readPage({ start: next, signal }));
      yield* page.data;
      next = page.truncated ? page.next_start : undefined;
    } while (next !== undefined);
  });
}
