/** The name of a stream: `<aggregate_type>:<aggregate_id>`, both canonical. */

declare const brand: unique symbol;

/** A canonical stream key. Only {@link streamKey} makes one. */
export type StreamKey = string & { readonly [brand]: "StreamKey" };

/** `type` is a declared aggregate type, `id` a canonical identifier. A type never holds a colon. */
export function streamKey(type: string, id: string): StreamKey {
  return `${type}:${id}` as StreamKey;
}

/** The two halves of a stream key. */
export function splitStreamKey(key: StreamKey): { readonly type: string; readonly id: string } {
  const colon = key.indexOf(":");
  return { type: key.slice(0, colon), id: key.slice(colon + 1) };
}
