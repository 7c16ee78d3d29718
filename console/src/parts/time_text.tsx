/** A moment: how long ago, or in how long, with the exact time behind it. */

import { distance } from "./distance.ts";

/** `at`: Unix seconds, or a text as ISO 8601 has it. */
export function TimeText({ at, now = Date.now() }: { at: number | string; now?: number }) {
  const moment = typeof at === "number" ? new Date(at * 1000) : new Date(at);
  if (Number.isNaN(moment.getTime())) return <>{String(at)}</>;
  return (
    <time dateTime={moment.toISOString()} title={moment.toISOString()}>
      {distance(moment.getTime(), now)}
    </time>
  );
}
