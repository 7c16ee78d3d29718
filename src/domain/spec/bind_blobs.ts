/**
 * Binds the modules that a compiled spec calls to their versions in one environment.
 *
 * A spec is compiled without knowing these versions, because an upload may change them at any
 * time. Binding puts them beside the spec and into the hash under which a type's snapshots are
 * stored. See docs/reference/modules.md.
 */

import { hash } from "node:crypto";
import { assert } from "../assert.ts";
import { limits } from "../limits.ts";
import { didYouMean } from "../nearest_name.ts";
import type { Violation } from "../refusal.ts";
import { type BlobVersion, referenceText, type ResolvedBlob } from "../wasm/blob.ts";
import type { ModuleCall } from "../wasm/module_call.ts";
import type { CompiledAggregateType, CompiledSpec } from "./compiled.ts";
import { TextMap } from "../lookup/text_map.ts";

/** What an environment has for one reference to a blob. */
export interface FoundBlob {
  /** The version that the reference resolves to. */
  readonly blob?: BlobVersion;
  /** The newest version of that name; 0 if there is none. */
  readonly latest: number;
}

/** Keyed by the text of the reference. */
export type FoundBlobs = ReadonlyMap<string, FoundBlob>;

/**
 * Reports calls that cannot be made: the blob is missing, or does not export the function. At most
 * `limits.violationsMax` of them; what is called behind those need not have been looked up.
 */
export function checkBlobs(calls: readonly ModuleCall[], found: FoundBlobs): Violation[] {
  const violations: Violation[] = [];
  // Bounded: the calls of one spec, each by a look-up, until there are enough violations.
  for (const call of calls) {
    if (violations.length === limits.violationsMax) break;
    const { blob, latest } = found.get(referenceText(call.blob))!;
    if (blob === undefined) violations.push(missingBlob(call, latest));
    else if (!blob.exports.includes(call.entrypoint)) violations.push(missingExport(call, blob));
  }
  return violations;
}

function missingBlob({ blob, path }: ModuleCall, latest: number): Violation {
  if (latest === 0) {
    const message = `There is no blob "${blob.name}" in this environment`;
    const hint = "POST /_admin/blobs uploads it; each environment has blobs of its own";
    return { rule: "unknown_blob", path, message, hint };
  }
  const message = `The blob "${blob.name}" has no version ${blob.version}; the newest is ${latest}`;
  const hint = `Write "${blob.name}:v${latest}", or "${blob.name}" for the newest at any time`;
  return { rule: "unknown_blob_version", path, message, hint };
}

function missingExport({ entrypoint, path }: ModuleCall, blob: BlobVersion): Violation {
  const { name, version, exports } = blob;
  const message = `Version ${version} of the blob "${name}" exports no entrypoint "${entrypoint}"`;
  const hint = didYouMean(entrypoint, exports, `It exports ${exports.join(", ")}`);
  return { rule: "unknown_entrypoint", path, message, hint };
}

/**
 * Reports the calls of a spec that would go to a new version of a blob although it does not
 * export the function. The path of each violation is that of the missing export.
 */
export function checkTakeOver(spec: CompiledSpec, blob: BlobVersion): Violation[] {
  return callsOfLatest(spec, blob.name).filter(({ entrypoint }) =>
    !blob.exports.includes(entrypoint)
  ).map(({ entrypoint, path }) => ({
    rule: "entrypoint_in_use",
    path: `file.exports.${entrypoint}`,
    message: `The current spec calls "${entrypoint}" of the newest "${blob.name}", at ${path}`,
    hint: "Export it, or pin the spec to the version before",
  }));
}

/** The calls that always go to the newest version of a blob. */
export function callsOfLatest(spec: CompiledSpec, name: string): ModuleCall[] {
  return spec.moduleCalls.filter(({ blob }) => blob.name === name && blob.version === undefined);
}

/** `spec` with the versions its calls resolve to. Every one of them must have been found. */
export function bindBlobs(spec: CompiledSpec, found: FoundBlobs): CompiledSpec {
  if (spec.moduleCalls.length === 0) return spec;
  const blobs = new TextMap<ResolvedBlob>();
  for (const [text, { blob }] of found) {
    assert(blob !== undefined, "a deployed spec calls blobs that are there");
    const { name, version, sha256 } = blob;
    blobs.set(text, { name, version, sha256 });
  }
  const types = [...spec.aggregateTypes].map(([name, type]) =>
    [name, bindType(type, blobs)] as const
  );
  return { ...spec, blobs, aggregateTypes: new Map(types) };
}

function bindType(
  type: CompiledAggregateType,
  blobs: ReadonlyMap<string, ResolvedBlob>,
): CompiledAggregateType {
  if (type.wasmHandlers.size === 0) return type;
  const digests = [...type.wasmHandlers].map(([eventType, { blob }]) =>
    `${eventType} ${blobs.get(referenceText(blob))!.sha256}`
  ).sort();
  const foldHash = hash("sha256", [type.definitionHash, ...digests].join("\n"), "hex");
  return { ...type, blobs, foldHash };
}

/** Whether two bindings of the same spec resolve to the same versions. */
export function isSameBinding(a: CompiledSpec, b: CompiledSpec): boolean {
  for (const [text, { version }] of a.blobs) {
    if (b.blobs.get(text)?.version !== version) return false;
  }
  return a.blobs.size === b.blobs.size;
}
