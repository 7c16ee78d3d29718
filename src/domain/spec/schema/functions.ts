/**
 * Which schemas within a schema become functions of their own: those that are referred to, and as
 * many others as are needed for each function to be small. So compiling goes in small pieces, and
 * the path that each fault of a function has in its code stays short.
 */

import { isJsonObject } from "../../json.ts";
import type { Steps } from "../../pieces.ts";
import type { References } from "./references.ts";
import { partsOf } from "./schema_size.ts";
import { LEFT_OUT, subschemasOf } from "./vocabulary.ts";

/** Parts of one function, where its schema can be divided. */
const FUNCTION_PARTS = 200;
/** Parts that a call of one takes in its caller. */
const CALL_PARTS = 2;
/** Characters of the path from the function to a schema in it. */
const PATH_CHARACTERS = 160;

/** The pointers of schemas that become functions, with `targets`, which some reference means. */
export function* chooseFunctions(
  references: References,
  targets: Iterable<string>,
): Steps<ReadonlySet<string>> {
  const functions = new Set(targets);
  yield* measure("", 0, { references, functions });
  return functions;
}

interface Choosing {
  readonly references: References;
  readonly functions: Set<string>;
}

/** Parts of the schema at `pointer` that stay in the function around it. */
function* measure(pointer: string, start: number, choosing: Choosing): Steps<number> {
  const { references, functions } = choosing;
  const { schema } = references.places.get(pointer)!;
  if (!isJsonObject(schema)) return 1;
  if (pointer.length - start > PATH_CHARACTERS) functions.add(pointer);
  const own = functions.has(pointer) ? pointer.length : start;
  let parts = partsOf(schema);
  const children: { readonly pointer: string; readonly parts: number }[] = [];
  for (const child of subschemasOf(schema)) {
    const place = pointer + child.pointer;
    const inner = yield* measure(place, own, choosing);
    yield;
    if (LEFT_OUT.has(child.keyword)) continue;
    parts += inner;
    children.push({ pointer: place, parts: inner });
  }
  // The largest first: so few are enough.
  children.sort((a, b) => b.parts - a.parts);
  for (const child of children) {
    if (parts <= FUNCTION_PARTS || child.parts <= CALL_PARTS) break;
    functions.add(child.pointer);
    parts -= child.parts - CALL_PARTS;
  }
  return functions.has(pointer) ? CALL_PARTS : parts;
}
