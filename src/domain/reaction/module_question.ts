/** What implications ask of modules, and what they are answered. */

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
  /** The JSON text of what it was to return, checked. */
  | { readonly ok: true; readonly json: string }
  /** Why there is none; `cause` is for the error record. */
  | { readonly ok: false; readonly message: string; readonly cause: JsonObject };

/** By {@link questionKey}. */
export type ModuleAnswers = ReadonlyMap<string, ModuleAnswer>;

export const NO_ANSWERS: ModuleAnswers = new Map();

/** The same key, the same answer: modules are pure. */
export function questionKey({ call, output, inputJson }: ModuleQuestion): string {
  return `${referenceText(call.blob)} ${call.entrypoint} ${output} ${inputJson}`;
}
