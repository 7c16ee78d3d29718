/**
 * Chooses which schemas within a schema become functions of their own.
 *
 * These are the ones that are referred to, and as many others as it takes to keep each function
 * small. Compiling then proceeds in small pieces, and the path stored for each fault in the
 * generated code stays short.
 */

import { isJsonObject } from "../../json.ts";
import type { Steps } from "../../fairness/pieces.ts";
import type { References } from "./references.ts";
import { partsOf } from "./schema_size.ts";
import { LEFT_OUT, subschemasOf } from "./vocabulary.ts";

/** Parts of one function at most, if its schema can be divided. */
const FUNCTION_PARTS = 200;
/** Parts that a call of a function counts for in its caller. */
const CALL_PARTS = 2;
/** Characters of the path from a function to a schema inside it. */
const PATH_CHARACTERS = 160;

/** The pointers of schemas that become functions; includes `targets`, which references mean. */
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

/** Counts the parts of the schema at `pointer` that stay in the enclosing function. */
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
  // Largest first, so that few functions suffice.
  children.sort((a, b) => b.parts - a.parts);
  for (const child of children) {
    if (parts <= FUNCTION_PARTS || child.parts <= CALL_PARTS) break;
    functions.add(child.pointer);
    parts -= child.parts - CALL_PARTS;
  }
  return functions.has(pointer) ? CALL_PARTS : parts;
}
