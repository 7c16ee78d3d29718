/** Delivery ids, which sort by the time of their event. */

export const DELIVERY_ID = /^dlv_[0-9a-f]{28}$/;

/** Random bytes in each id. */
export const DELIVERY_ID_RANDOM_BYTES = 6;

const TIME_DIGITS = 12;
const NUMBER_DIGITS = 4;

/**
 * `number` is the delivery's number among those of the same write. `random` makes the id
 * unique.
 */
export function deliveryId(nowMs: number, number: number, random: Uint8Array): string {
  const digits = number.toString(16).padStart(NUMBER_DIGITS, "0").slice(-NUMBER_DIGITS);
  return `${deliveryIdsFrom(nowMs)}${digits}${random.toHex()}`;
}

/** A text that sorts before all ids of deliveries whose event was written at `timeMs` or later. */
export function deliveryIdsFrom(timeMs: number): string {
  return `dlv_${Math.max(0, Math.floor(timeMs)).toString(16).padStart(TIME_DIGITS, "0")}`;
}
