/** Ids of deliveries: those of events that were written later sort behind. */

export const DELIVERY_ID = /^dlv_[0-9a-f]{28}$/;

/** Of each id. */
export const DELIVERY_ID_RANDOM_BYTES = 6;

const TIME_DIGITS = 12;
const NUMBER_DIGITS = 4;

/** `number`: of the delivery among those made for the same write. `random` makes it unique. */
export function deliveryId(nowMs: number, number: number, random: Uint8Array): string {
  const digits = number.toString(16).padStart(NUMBER_DIGITS, "0").slice(-NUMBER_DIGITS);
  return `${deliveryIdsFrom(nowMs)}${digits}${random.toHex()}`;
}

/** Ids of deliveries whose event was written at that time or later are not before this text. */
export function deliveryIdsFrom(timeMs: number): string {
  return `dlv_${Math.max(0, Math.floor(timeMs)).toString(16).padStart(TIME_DIGITS, "0")}`;
}
