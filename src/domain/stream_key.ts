/** Stream keys: `<aggregate_type>:<aggregate_id>`, both in canonical form. */

declare const brand: unique symbol;

/** A canonical stream key. Only {@link streamKey} makes one. */
export type StreamKey = string & { readonly [brand]: "StreamKey" };

/**
 * `type` is a declared aggregate type, `id` a canonical identifier. A type never contains a
 * colon.
 */
export function streamKey(type: string, id: string): StreamKey {
  return `${type}:${id}` as StreamKey;
}

/** Splits a stream key into its two halves. */
export function splitStreamKey(key: StreamKey): { readonly type: string; readonly id: string } {
  const colon = key.indexOf(":");
  return { type: key.slice(0, colon), id: key.slice(colon + 1) };
}
