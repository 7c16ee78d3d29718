/**
 * Compiles the stream that an entry names by `aggregate_type` and `id`.
 *
 * Both are templates over the trigger. See docs/reference/reactions.md.
 *
 * - The id is normalized like every id. An invalid identifier is a failure, or a fault of the
 *   spec if the spec gives it literally.
 * - An id may also be the whole key of an aggregate of that type. So `$.key` names the
 *   trigger's own aggregate, and so does the `key` of another event found in the data.
 */

import { addFault, childSite, type Evaluation, type Site } from "../handler/evaluation.ts";
import { excerpt } from "../handler/path.ts";
import { explainIdentifier, parseIdentifier, type StreamKey, streamKey } from "../identifier.ts";
import { describeKind, isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { isTypeName } from "../type_name.ts";
import { textAt, type TextField } from "./form.ts";
import { failed, type Resolved, resolvedTo, SKIPPED } from "./resolved.ts";
import { checkAggregateType, type Terms } from "./terms.ts";

export interface NamedStream {
  readonly key: StreamKey;
  readonly aggregateType: string;
  readonly id: string;
}

export interface StreamField {
  /** The aggregate type, if the spec gives it literally. */
  readonly aggregateType: string | undefined;
  readonly resolve: (evaluation: Evaluation) => Resolved<NamedStream>;
}

/** Compiles `aggregate_type` and `id`; undefined if one of them is missing or faulty. */
export function streamAt(fields: JsonObject, site: Site, terms: Terms): StreamField | undefined {
  const type = textAt(fields, "aggregate_type", site);
  const id = textAt(fields, "id", site);
  const typeSite = childSite(site, "aggregate_type");
  const isKnown = type?.constant === undefined ||
    checkAggregateType(type.constant, typeSite, terms);
  if (type === undefined || id === undefined || !isKnown) return undefined;
  const { constant: aggregateType } = type;
  if (aggregateType === undefined) return { aggregateType, resolve: resolver(type, id, terms) };
  if (isWholeKey(fields["id"]) && aggregateType !== terms.triggerType) {
    addFault(
      childSite(site, "id"),
      "identifier_invalid",
      `"$.key" is the key of an aggregate of type "${terms.triggerType}", not "${aggregateType}"`,
      'For the aggregate of the same id write "$.id"',
    );
  }
  if (id.constant === undefined) return { aggregateType, resolve: resolver(type, id, terms) };
  const stream = nameStream(aggregateType, id.constant, terms);
  if (stream.kind === "failure") {
    addFault(
      childSite(site, "id"),
      "identifier_invalid",
      `"${excerpt(id.constant)}" is not an identifier`,
      explainIdentifier(id.constant),
    );
  }
  return { aggregateType, resolve: () => stream };
}

function isWholeKey(definition: JsonValue | undefined): boolean {
  const text = isJsonObject(definition) ? definition["$"] : definition;
  return text === "$.key" || text === "$.key?";
}

function resolver(type: TextField, id: TextField, terms: Terms): StreamField["resolve"] {
  return (evaluation) => {
    const aggregateType = resolveTypeName(type, "aggregate_type", evaluation);
    if (aggregateType.kind !== "value") return aggregateType;
    const text = id.view(evaluation);
    if (text === undefined) return SKIPPED;
    if (typeof text !== "string") return failed(`id is ${describeKind(text)}, not a text`);
    return nameStream(aggregateType.value, text, terms);
  };
}

/** The type name that an event gives. Whether it is declared is checked when it is written. */
export function resolveTypeName(
  field: TextField,
  key: string,
  evaluation: Evaluation,
): Resolved<string> {
  if (field.constant !== undefined) return resolvedTo(field.constant);
  const name = field.view(evaluation);
  if (name === undefined) return SKIPPED;
  if (typeof name !== "string") return failed(`${key} is ${describeKind(name)}, not a text`);
  if (isTypeName(name)) return resolvedTo(name);
  return failed(`${key} "${excerpt(name)}" is not the name of a type`);
}

/** The stream with that id; the id may also be the whole key. */
export function nameStream(
  type: string,
  text: string,
  { singletons }: Terms,
): Resolved<NamedStream> {
  const prefix = `${type}:`;
  const identifier = parseIdentifier(text, singletons) ??
    (text.startsWith(prefix) ? parseIdentifier(text.slice(prefix.length), singletons) : undefined);
  if (identifier === undefined) {
    return failed(`id "${excerpt(text)}" is not an identifier: ${explainIdentifier(text)}`);
  }
  const { value: id } = identifier;
  return resolvedTo({ key: streamKey(type, id), aggregateType: type, id });
}
