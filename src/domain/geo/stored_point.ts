/** The point of a stored event, read from its text: for imports and for checks of the store. */

import { decodeEvent } from "../event.ts";
import { type GeoPoint, isLatitude, isLongitude } from "./point.ts";

/** Each event with a point has this text; others hardly ever, so they are not parsed. */
const MARK = '"geo":{"type":';

/** Undefined where it has none, or none that is on the Earth. */
export function storedPoint(raw: string): GeoPoint | undefined {
  if (!raw.includes(MARK)) return undefined;
  const { geo } = decodeEvent(raw).metadata;
  if (geo === undefined) return undefined;
  const { lat, lng } = geo;
  return isLatitude(lat) && isLongitude(lng) ? { lat, lng } : undefined;
}
