/** The questions that implications ask modules, and the answers. */

import type { JsonObject } from "../json.ts";
import { referenceText } from "../wasm/blob.ts";
import type { ModuleCall } from "../wasm/module_call.ts";

export interface ModuleQuestion {
  readonly call: ModuleCall;
  /** What the module is to return. */
  readonly output: "actions" | "context";
  readonly inputJson: string;
}

export type ModuleAnswer =
  /** The JSON text of the requested output, which has been checked. */
  | { readonly ok: true; readonly json: string }
  /** Why there is no output; `cause` is for the error record. */
  | { readonly ok: false; readonly message: string; readonly cause: JsonObject };

/** Answers by {@link questionKey}. */
export type ModuleAnswers = ReadonlyMap<string, ModuleAnswer>;

export const NO_ANSWERS: ModuleAnswers = new Map();

/** Questions with the same key have the same answer, because modules are pure. */
export function questionKey({ call, output, inputJson }: ModuleQuestion): string {
  return `${referenceText(call.blob)} ${call.entrypoint} ${output} ${inputJson}`;
}
