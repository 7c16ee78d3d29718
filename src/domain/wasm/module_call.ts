/**
 * How a spec calls a module: in the short form `{wasm: <blob name>}` or the long one.
 *
 * See docs/reference/modules.md.
 */

import { describeKind, isJsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { didYouMean } from "../nearest_name.ts";
import type { Violation } from "../refusal.ts";
import { type BlobReference, explainReference, parseReference } from "./blob.ts";

export type ModuleMode = "emit" | "transform";

/** A function of a blob, as a spec names it. `bind_blobs.ts` decides which version that is. */
export interface ModuleCall {
  readonly blob: BlobReference;
  readonly entrypoint: string;
  readonly timeoutMs: number;
  /** Dotted location in the spec of the value under `wasm`. */
  readonly path: string;
}

export interface ImplicationCall extends ModuleCall {
  readonly mode: ModuleMode;
}

export type ReadCall<Call> =
  | { readonly ok: true; readonly call: Call }
  | { readonly ok: false; readonly violations: readonly Violation[] };

const HANDLER_KEYS = ["blob_name", "entrypoint", "timeout_ms"];
const IMPLICATION_KEYS = ["blob_name", "entrypoint", "mode"];
const HANDLER_ENTRYPOINT = "apply_handler";
const IMPLICATION_ENTRYPOINT = "compute_implications";
/** The same pattern by which an upload lists entrypoints. */
const ENTRYPOINT = /^[\x21-\x7e]{1,128}$/;
const MODES: readonly JsonValue[] = ["emit", "transform"];

/** Reads the value under a handler's `wasm`. `path` is its location. */
export function readHandlerCall(value: JsonValue, path: string): ReadCall<ModuleCall> {
  const form = readForm(value, path, HANDLER_KEYS, HANDLER_ENTRYPOINT);
  const { timeout_ms: timeoutMs = limits.wasmTimeoutMsDefault } = form.fields;
  if (!isTimeout(timeoutMs)) {
    const message = `timeout_ms must be a whole number from 1 to ${limits.wasmTimeoutMsMax}`;
    form.add("timeout_range", "timeout_ms", message, "Leave it out for 100 ms");
  }
  return finish(form, { timeoutMs: timeoutMs as number });
}

/** The same for an implication, which also has a mode and always gets the default timeout. */
export function readImplicationCall(value: JsonValue, path: string): ReadCall<ImplicationCall> {
  const form = readForm(value, path, IMPLICATION_KEYS, IMPLICATION_ENTRYPOINT);
  const { mode = "emit" } = form.fields;
  if (!MODES.includes(mode)) {
    const hint = "emit returns actions; transform returns context for the steps behind it";
    form.add("unknown_mode", "mode", 'mode must be "emit" or "transform"', hint);
  }
  return finish(form, { mode: mode as ModuleMode, timeoutMs: limits.wasmTimeoutMsDefault });
}

interface Form {
  readonly fields: Readonly<Record<string, JsonValue>>;
  readonly path: string;
  readonly blob: BlobReference | undefined;
  readonly entrypoint: string;
  readonly violations: Violation[];
  add(rule: string, key: string | undefined, message: string, hint: string): void;
}

function readForm(
  value: JsonValue,
  path: string,
  known: readonly string[],
  defaultEntrypoint: string,
): Form {
  const violations: Violation[] = [];
  function add(rule: string, key: string | undefined, message: string, hint: string): void {
    violations.push({ rule, path: key === undefined ? path : `${path}.${key}`, message, hint });
  }
  const hint = `Write "wasm": "<blob name>", or an object with ${known.join(", ")}`;
  const isLong = isJsonObject(value);
  if (!isLong && typeof value !== "string") {
    const message = `wasm must be the name of a blob or an object, not ${describeKind(value)}`;
    add("wrong_type", undefined, message, hint);
  }
  const fields = isLong ? value : {};
  for (const key of Object.keys(fields)) {
    if (known.includes(key)) continue;
    if (violations.length === limits.violationsMax) break;
    add("unknown_key", key, `There is no key "${key}" here`, didYouMean(key, known, hint));
  }
  const name = isLong ? fields["blob_name"] : value;
  const blob = typeof name === "string" ? parseReference(name) : undefined;
  const key = isLong ? "blob_name" : undefined;
  if (isLong && name === undefined) add("missing_key", key, "blob_name is missing", hint);
  else if (isLong && typeof name !== "string") {
    add("wrong_type", key, `blob_name must be a text, not ${describeKind(name!)}`, hint);
  } else if (typeof name === "string" && blob === undefined) {
    const { message, hint } = explainReference(name);
    add("blob_name_invalid", key, message, hint);
  }
  const { entrypoint = defaultEntrypoint } = fields;
  if (typeof entrypoint !== "string" || !ENTRYPOINT.test(entrypoint)) {
    const message = "entrypoint must be the name of an exported function";
    add("entrypoint_invalid", "entrypoint", message, `Leave it out for ${defaultEntrypoint}`);
  }
  return { fields, path, blob, entrypoint: String(entrypoint), violations, add };
}

function finish<More extends { readonly timeoutMs: number }>(
  { blob, entrypoint, path, violations }: Form,
  more: More,
): ReadCall<Omit<ModuleCall, "timeoutMs"> & More> {
  if (violations.length > 0 || blob === undefined) return { ok: false, violations };
  return { ok: true, call: { blob, entrypoint, path, ...more } };
}

function isTimeout(value: JsonValue): boolean {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= limits.wasmTimeoutMsMax;
}
