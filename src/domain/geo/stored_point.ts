/** Reads the point of a stored event from its text, for transfers and for checks of the store. */

import { decodeEvent } from "../event.ts";
import { type GeoPoint, isLatitude, isLongitude } from "./point.ts";

/** Every event with a point contains this text. Others hardly ever do, so they are not parsed. */
const MARK = '"geo":{"type":';

/** Undefined when the event has no point, or none that is on the Earth. */
export function storedPoint(raw: string): GeoPoint | undefined {
  if (!raw.includes(MARK)) return undefined;
  const { geo } = decodeEvent(raw).metadata;
  if (geo === undefined) return undefined;
  const { lat, lng } = geo;
  return isLatitude(lat) && isLongitude(lng) ? { lat, lng } : undefined;
}
