/**
 * The safety net below all rate limits: a number of requests a minute from one address.
 *
 * It counts requests whoever sends them. Each process counts for itself, in memory that stays
 * bounded however many addresses there are. See docs/reference/limits.md.
 */

import { limits } from "../../domain/limits.ts";
import type { RateVerdict } from "../../domain/limits/plan.ts";
import {
  addAt,
  countAt,
  newRateWindow,
  type RateWindow,
  roomInMs,
} from "../../domain/limits/rate.ts";
import { createRecentTexts } from "../../domain/recent_map.ts";
import { networkOf } from "../client_address.ts";

export interface AddressNet {
  /**
   * Counts a request, unless it exceeds the limit. `peer` is the other end of the connection;
   * `nowMs` is the time of a monotonic clock.
   */
  take(peer: string, forwardedFor: string | null, nowMs: number): RateVerdict;
  /** The number of addresses it remembers. */
  count(): number;
}

/**
 * Each takes some 400 bytes. To make the net forget an address, that many other addresses must
 * send requests; a caller who has them may send as many requests anyway.
 */
export const ADDRESSES_MAX = 50_000;
/** Coarse, because there are many windows. */
const BUCKET_MS = 5_000;
/** How many parsed addresses are cached: parsing one is far slower than a lookup. */
const READINGS_MAX = 10_000;
const READ_CHARACTERS_MAX = 200;

/** `clientAddress` knows which proxies are trusted. */
export function createAddressNet(
  clientAddress: (peer: string, forwardedFor: string | null) => string,
  limit: number = limits.addressRequestsPerMinuteDefault,
): AddressNet {
  const windows = createRecentTexts<RateWindow>(ADDRESSES_MAX);
  const readings = createRecentTexts<string>(READINGS_MAX);

  function readNetwork(peer: string, forwardedFor: string | null): string {
    const text = forwardedFor === null ? peer : `${peer} ${forwardedFor}`;
    let network = readings.get(text);
    if (network === undefined) {
      network = networkOf(clientAddress(peer, forwardedFor));
      if (text.length <= READ_CHARACTERS_MAX) readings.set(text, network);
    }
    return network;
  }

  return {
    count: () => windows.size,
    take(peer, forwardedFor, nowMs) {
      const network = readNetwork(peer, forwardedFor);
      let window = windows.get(network);
      if (window === undefined) windows.set(network, window = newRateWindow(BUCKET_MS));
      const count = countAt(window, nowMs);
      if (count >= limit) {
        const retryAfterMs = roomInMs(window, nowMs, limit);
        return { isAdmitted: false, limit, remaining: 0, retryAfterMs };
      }
      addAt(window, nowMs);
      return { isAdmitted: true, limit, remaining: limit - count - 1, retryAfterMs: 0 };
    },
  };
}
