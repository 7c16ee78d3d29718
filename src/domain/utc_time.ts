/** Parses the times that clients send: ISO 8601 in UTC. */

const UTC_TIME = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.\d{1,9})?Z$/;

/** Milliseconds since 1970; undefined for other texts and for days that do not exist. */
export function parseUtcTime(text: string): number | undefined {
  const seconds = UTC_TIME.exec(text)?.[1];
  const ms = Date.parse(text);
  if (seconds === undefined || Number.isNaN(ms)) return undefined;
  // `Date` reads 30 February as 2 March. Writing the time back out reveals that.
  return new Date(ms).toISOString().startsWith(seconds) ? ms : undefined;
}
