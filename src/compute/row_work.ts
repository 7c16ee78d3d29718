/** Computes a row of a projection as far as the known states allow. */

import { assert } from "../domain/assert.ts";
import { BudgetSpent } from "../domain/budget.ts";
import { newFoldBudget } from "../domain/handler/budget.ts";
import type { JsonObject, JsonValue } from "../domain/json.ts";
import { limits } from "../domain/limits.ts";
import { compileProjection } from "../domain/projection/compile.ts";
import type { CompiledProjection } from "../domain/projection/definition.ts";
import { advanceRow, refuseRow, type RowStep } from "../domain/projection/row.ts";
import type { StreamKey } from "../domain/identifier.ts";
import type { RowHead } from "./messages.ts";
import type { Work, WorkEnd } from "./job.ts";
import { parseJson } from "../domain/json_text/parse_json.ts";
import { TextMap } from "../domain/lookup/text_map.ts";

interface Definition {
  readonly document: JsonObject;
  readonly types: readonly string[];
  readonly singletons: readonly string[];
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

export function rowWork({ key, states }: RowHead): Work<"row"> {
  let projection: CompiledProjection | undefined;
  const bytes = new Uint8Array(states.reduce((sum, [, size]) => sum + size, 0));
  let end = 0;

  function readStates(): ReadonlyMap<StreamKey, JsonValue> {
    const found = new TextMap<JsonValue, StreamKey>();
    let at = 0;
    for (const [stream, size] of states) {
      const text = decoder.decode(bytes.subarray(at, at + size));
      found.set(stream, size === 0 ? null : parseJson(text));
      at += size;
    }
    return found;
  }

  return {
    take(name, piece) {
      if (name === "definition") projection = compile(parseJson(decoder.decode(piece)));
      else {
        bytes.set(piece, end);
        end += piece.length;
      }
      return false;
    },
    end() {
      assert(projection !== undefined, "the definition comes first");
      const known = projection;
      try {
        const found = readStates();
        return endOf(advanceRow(known, key, (stream) => found.get(stream), newFoldBudget()));
      } catch (error) {
        if (!(error instanceof BudgetSpent)) throw error;
        return refused(error.message);
      }
    },
  };
}

function endOf(step: RowStep): WorkEnd<"row"> {
  if (step.kind === "wanted") return { result: step, pieces: [] };
  const bytes = encoder.encode(JSON.stringify(step.data));
  if (bytes.length <= limits.rowBytesMax) return { result: { kind: "data" }, pieces: [bytes] };
  return refused(
    `The row has ${bytes.length} bytes, more than the ${limits.rowBytesMax} that a row may have`,
  );
}

function refused(message: string): WorkEnd<"row"> {
  return { result: { kind: "refused", refusal: refuseRow(message) }, pieces: [] };
}

/** Compiles as at the deploy. Of the spec, only the names of types and singletons are needed. */
function compile({ document, types, singletons }: Definition): CompiledProjection {
  const compiled = compileProjection(document, {
    aggregateTypes: new Map(types.map((name) => [name, undefined])),
    singletons: new Set(singletons),
  }, "store");
  assert(compiled.ok, "a projection that was deployed compiles");
  return compiled.projection;
}
