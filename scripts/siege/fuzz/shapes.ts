/** Data of extreme shapes, each of which fits one event. */

import type { Json } from "../attack.ts";
import { fields, nest, repeat } from "../documents.ts";
import type { Random } from "./random.ts";

/** What one event's data may take as JSON, with room for what surrounds it. */
const BYTES_MAX = 96_000;

/** `scale`, from 0 to 1, says how much of an event's room is used. */
export function randomData(random: Random, scale: number): Json {
  const room = Math.max(20, Math.floor(BYTES_MAX * scale));
  return { [random.pick(FIELDS)]: SHAPES[random.below(SHAPES.length)]!(random, room) };
}

/** Names that the generated handlers, schemas and columns know. */
export const FIELDS = ["a", "b", "list", "map", "text", "deep"] as const;

const SHAPES: readonly ((random: Random, room: number) => Json)[] = [
  (random, room) => longText(random, room),
  (_, room) => repeat(Math.floor(room / 7), (i) => i),
  (random, room) => repeat(Math.floor(room / 5), () => random.pick([0, 1, null])),
  (_, room) => repeat(Math.floor(room / 20), (i) => ({ a: i, k: "x" })),
  (_, room) => fields(Math.floor(room / 10), () => 0),
  (random, room) =>
    Object.fromEntries(repeat(Math.floor(room / 14), (i) => [`${random.below(1e6)}${i}`, i])),
  (_, room) => nest(Math.min(55, Math.floor(room / 6)), (inner) => ({ a: inner }), "end"),
  (_, room) => nest(Math.min(55, Math.floor(room / 6)), (inner) => [inner], 1),
  (random, room) => repeat(4, () => longText(random, Math.floor(room / 4))),
  (_, room) => repeat(30, () => repeat(Math.floor(room / 150), () => [1])),
  (random, room) => repeat(Math.floor(room / 300), () => `${"a".repeat(280)}${random.below(10)}`),
];

/** Long texts that are alike, so that comparing them takes their whole length. */
function longText(random: Random, length: number): string {
  const unit = random.pick(["a", "ab", "aaaaaaaab", "\u00e9", "(", ":", "%", "\\", "1", " "]);
  const bytes = new TextEncoder().encode(unit).length + (unit === "\\" ? 1 : 0);
  return unit.repeat(Math.floor(length / bytes)) + random.pick(["", "x", "y", "!"]);
}
