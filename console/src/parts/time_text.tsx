/** A moment: how long ago, or in how long, with the exact time behind it. */

const UNITS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

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

/** For example `3 minutes ago`, `in 2 days`. */
export function distance(ms: number, nowMs: number): string {
  const seconds = (ms - nowMs) / 1000;
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
  return relative.format(Math.trunc(seconds / length), unit);
}
