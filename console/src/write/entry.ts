/** What the form of an event holds, and the write that it means. */

import { type Draft, type Fault, type Part, readDraft, readJson } from "./form_draft.ts";

export interface Entry {
  readonly event: string;
  /** Whether the data is typed as JSON. */
  readonly isJson: boolean;
  readonly draft: Draft;
  readonly json: string;
  readonly actorType: string;
  readonly actorId: string;
  /** Empty: no target. */
  readonly targetType: string;
  readonly targetId: string;
  /** The expected length as typed; empty: any. */
  readonly expected: string;
  readonly key: string;
}

export interface Wanted {
  readonly data: object;
  readonly options: {
    readonly actor: { readonly type: string; readonly id: string };
    readonly target?: { readonly type: string; readonly id: string };
    readonly previous_length?: number;
    readonly idempotencyKey: string;
  };
}

/** No stream is ever so long, so a write that expects it is checked and then turned down. */
export const NEVER_LENGTH = Number.MAX_SAFE_INTEGER;

/** What is to be written, or the faults that keep it from being one. */
export function readEntry(entry: Entry, part: Part): Wanted | readonly Fault[] {
  const faults: Fault[] = [];
  const data = entry.isJson
    ? readJson(part.path, entry.json, faults)
    : readDraft(part, entry.draft, faults);
  if (faults.length === 0 && (typeof data !== "object" || data === null || Array.isArray(data))) {
    faults.push({ path: part.path, message: "must be an object" });
  }
  if (!/^[0-9]{0,15}$/.test(entry.expected.trim())) {
    faults.push({ path: "metadata.previous_length", message: "must be a number of events" });
  }
  if (entry.key.trim() === "") {
    faults.push({ path: "idempotency_key", message: "is required" });
  }
  if (faults.length > 0) return faults;
  const { targetType, targetId, expected } = entry;
  return {
    data: data as object,
    options: {
      actor: { type: entry.actorType, id: entry.actorId.trim() },
      target: targetType === "" ? undefined : { type: targetType, id: targetId.trim() },
      previous_length: expected.trim() === "" ? undefined : Number(expected),
      idempotencyKey: entry.key.trim(),
    },
  };
}

interface RefusedWrite {
  readonly path?: string;
  readonly error: string;
  readonly details?: unknown;
}

/** The faults that a refusal names, each with its path. */
export function faultsOf({ path, error, details }: RefusedWrite): Fault[] {
  if (Array.isArray(details)) {
    return details.filter((fault): fault is Fault =>
      typeof fault?.path === "string" && typeof fault?.message === "string"
    );
  }
  return path === undefined ? [] : [{ path, message: error }];
}

/** Whether the field that a fault names says in two entries the same. */
export function isUntouched(path: string, one: Entry, other: Entry): boolean {
  const [part, ...names] = path.split(".");
  if (part !== "data") return METADATA.every((name) => one[name] === other[name]);
  if (one.isJson || other.isJson) return one.isJson === other.isJson && one.json === other.json;
  return draftAt(one.draft, names) === draftAt(other.draft, names);
}

const METADATA = ["actorType", "actorId", "targetType", "targetId", "expected", "key"] as const;

function draftAt(draft: Draft, names: readonly string[]): Draft {
  return names.reduce<Draft>((part, name) => {
    if (part instanceof Map) return part.get(name);
    return Array.isArray(part) ? part[Number(name)] : undefined;
  }, draft);
}
