/** Which event an address names. */

/** The number of an event, from 0; undefined where the text is none. */
export function eventIndexOf(text: string): number | undefined {
  const index = /^\d+$/.test(text) ? Number(text) : NaN;
  return Number.isSafeInteger(index) ? index : undefined;
}
