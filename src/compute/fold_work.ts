/** Folds events into a state, with the handlers of a spec. */

import { newBudget } from "../domain/budget.ts";
import { assert } from "../domain/assert.ts";
import { decodeEvent } from "../domain/event.ts";
import { compileHandler } from "../domain/handler/compile_handler.ts";
import { fold } from "../domain/handler/fold.ts";
import type { Handler } from "../domain/handler/handler.ts";
import { encodeStateInPieces } from "../domain/handler/state_text.ts";
import type { JsonObject, JsonValue } from "../domain/json.ts";
import { createRecentTexts } from "../domain/recent_map.ts";
import type { Refusal } from "../domain/refusal.ts";
import type { FoldHead } from "./messages.ts";
import type { Work } from "./job.ts";
import { parseJson } from "../domain/json_text/parse_json.ts";

type Handlers = ReadonlyMap<string, Handler>;

/** Aggregate types whose compiled handlers are kept for later jobs. */
const TYPES_MAX = 50;
const kept = createRecentTexts<Handlers>(TYPES_MAX);
const decoder = new TextDecoder();

export function foldWork({ foldHash, units, baseBytes }: FoldHead): Work<"fold"> {
  const budget = newBudget(units);
  let handlers: Handlers | undefined;
  let base: Uint8Array | undefined = new Uint8Array(baseBytes);
  let baseEnd = 0;
  let state: JsonObject = {};
  let refusal: Refusal | undefined;

  function begin(): void {
    if (base !== undefined && baseBytes > 0) state = parseJson(decoder.decode(base));
    // Drop the bytes: the text and the value may both be large.
    base = undefined;
  }

  function takeEvents(piece: Uint8Array): void {
    begin();
    assert(handlers !== undefined, "handlers come before events");
    const texts = decoder.decode(piece).split("\n");
    // Each text ends with a line feed, so the last part is empty.
    texts.pop();
    const folded = fold(handlers, state, texts.map(decodeEvent), budget);
    if (folded.ok) state = folded.value;
    else refusal = folded.refusal;
  }

  return {
    take(name, piece) {
      if (name === "handlers") handlers = handlersOf(foldHash, piece);
      else if (name === "base") {
        base!.set(piece, baseEnd);
        baseEnd += piece.length;
      } else takeEvents(piece);
      return refusal !== undefined;
    },
    end() {
      if (refusal === undefined) begin();
      if (refusal !== undefined) return { result: { ok: false, refusal }, pieces: [] };
      const text = encodeStateInPieces(state);
      return text.ok ? { result: { ok: true }, pieces: text.value } : { result: text, pieces: [] };
    },
  };
}

function handlersOf(foldHash: string, definitions: Uint8Array): Handlers {
  const known = kept.get(foldHash);
  if (known !== undefined) return known;
  const entries = Object.entries<JsonValue>(parseJson(decoder.decode(definitions)));
  const compiled = new Map(entries.map(([type, definition]) => {
    const { ok, ...result } = compileHandler(definition, type);
    assert(ok && "handler" in result, "handlers of a deployed spec compile");
    return [type, result.handler];
  }));
  kept.set(foldHash, compiled);
  return compiled;
}
