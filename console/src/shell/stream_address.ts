/** The address of a stream in the console, from the names that the server gives. */

import { hrefOf } from "./router.ts";
import { halvesOf } from "./stream_key.ts";

/** `key`: `<type>:<id>`; with `stream_id`, the event of that id is shown. */
export function hrefOfStream(key: string, stream_id?: string): string {
  const { type, id } = halvesOf(key);
  const event = stream_id === undefined ? undefined : Number(stream_id);
  return hrefOf(["streams", type, id], { event });
}
