/** Hints for misplaced fields of a write, the most common first mistakes. */

import { didYouMean } from "../../domain/nearest_name.ts";

const OF_METADATA: ReadonlySet<string> = new Set([
  "actor",
  "target",
  "previous_length",
  "skip_occ",
  "timestamp",
]);

export type WriteForm = "single" | "batch" | "atomic";

const KNOWN: Readonly<Record<WriteForm, readonly string[]>> = {
  single: ["data", "metadata", "preconditions"],
  batch: ["events", "metadata", "preconditions"],
  atomic: ["targets", "metadata", "preconditions"],
};

const OTHER_FORMS: Readonly<Record<WriteForm, Readonly<Record<string, string>>>> = {
  single: {
    events: "This path takes one event: POST /{type}/{id}, without the event type, takes `events`",
    targets: "This path takes one event: POST /_atomic-write takes `targets`",
    type: "The event's type is the last part of the path",
    event_type: "The event's type is the last part of the path",
  },
  batch: {
    data: "This path takes `events`, a list of {type, data}: POST /{type}/{id}/{event_type} " +
      "takes one event",
    targets: "This path takes the events of one aggregate: POST /_atomic-write takes `targets`",
  },
  atomic: {
    events: "`events` belongs in each of `targets`, beside `aggregate_type` and `id`",
  },
};

/** For a top-level field of a body. */
export function hintForBodyField(form: WriteForm, field: string): string {
  if (OF_METADATA.has(field)) return `\`${field}\` belongs in \`metadata\``;
  const other = OTHER_FORMS[form];
  if (Object.hasOwn(other, field)) return other[field]!;
  const [content = ""] = KNOWN[form];
  const otherwise = form === "single"
    ? 'The event\'s own fields belong in `data`: {"data": {...}, "metadata": {...}}'
    : `The body is {"${content}": [...], "metadata": {...}}`;
  return didYouMean(field, KNOWN[form], otherwise);
}

/** For a field of an event in a list, whether `type` is present or not. */
export function hintForEventField(field: string): string {
  if (field === "event_type") return "It is called `type` here";
  if (OF_METADATA.has(field) || field === "metadata") {
    return "`metadata` is that of the whole write and stands beside the list of events";
  }
  const otherwise = 'The event\'s own fields belong in its `data`: {"type": "...", "data": {...}}';
  return didYouMean(field, ["type", "data"], otherwise);
}

const TARGET_FIELDS = ["aggregate_type", "id", "events", "previous_length"];

/** For a field of a target of an atomic write. */
export function hintForTargetField(field: string): string {
  if (field === "aggregate_id") return "It is called `id` here";
  if (field === "type") return "It is called `aggregate_type` here";
  if (field === "data") return "`data` belongs in each of the target's `events`";
  if (OF_METADATA.has(field)) return `\`${field}\` belongs in \`metadata\`, beside \`targets\``;
  return didYouMean(field, TARGET_FIELDS, `A target has ${TARGET_FIELDS.join(", ")}`);
}
