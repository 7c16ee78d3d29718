/** How fresh rows are, in words. */

import type { SqlAnswer } from "@daybook/client";

/** Without a lag, the server has waited until everything that was written is shown. */
export function FreshnessText({ lag = 0, stale }: Pick<SqlAnswer<unknown>, "lag" | "stale">) {
  const behind = `${lag.toLocaleString("en")} ${lag === 1 ? "commit" : "commits"}`;
  if (stale) {
    return (
      <span class="note-line warning">
        The last good rows of a broken projection: {behind} behind.
      </span>
    );
  }
  if (lag > 0) return <span class="note-line warning">{behind} behind.</span>;
  return <span class="quiet">Current: everything that was written before is in it.</span>;
}
