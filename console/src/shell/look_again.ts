/** Looking again at what changes, only while somebody can see it. */

import { useEffect } from "preact/hooks";
import type { Loading } from "./loaded.ts";

/**
 * Loads again `delayMs` after each answer; never without a delay. While the page is hidden it waits
 * until the page is seen.
 */
export function useLookAgain<Value>(
  { now, reload }: Loading<Value>,
  delayMs: number | undefined,
): void {
  const { isLoading } = now.value;
  useEffect(() => {
    if (delayMs === undefined || isLoading) return;
    const timer = setTimeout(look, delayMs);

    function look(): void {
      if (document.hidden) document.addEventListener("visibilitychange", look, { once: true });
      else reload();
    }

    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [delayMs, isLoading]);
}
