/** A moment: how long ago, or in how long, with the exact time behind it. */

import { distance } from "./distance.ts";

const LONG = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

/** `at`: Unix seconds, or a text as ISO 8601 has it. */
export function TimeText(
  { at, now = Date.now(), isLong = false }: {
    readonly at: number | string;
    readonly now?: number;
    /** Shows the date and time as well, in the time zone of the reader. */
    readonly isLong?: boolean;
  },
) {
  const moment = typeof at === "number" ? new Date(at * 1000) : new Date(at);
  if (Number.isNaN(moment.getTime())) return <>{String(at)}</>;
  return (
    <time dateTime={moment.toISOString()} title={moment.toISOString()}>
      {distance(moment.getTime(), now)}
      {isLong && `, ${LONG.format(moment)}`}
    </time>
  );
}
