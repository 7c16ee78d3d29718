/**
 * Puts an edited handler into the text of a spec. All else keeps its characters: how it is laid
 * out, and how its numbers are written.
 */

import { type JsonNode, readJsonText } from "../spec/spec_text.ts";
import { readHandlerText } from "./handler_text.ts";

export type PutHandler =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly error: string };

export interface HandlerPlace {
  readonly type: string;
  readonly event: string;
  /** The handler, as JSON. */
  readonly handler: string;
}

export function putHandler(spec: string, { type, event, handler }: HandlerPlace): PutHandler {
  const document = readJsonText(spec);
  if (!document.ok) {
    return { ok: false, error: "The draft in the editor of the spec is not JSON yet." };
  }
  const definition = ["aggregate_types", type, "events", event]
    .reduce<JsonNode | undefined>((node, name) => memberOf(node, name), document.root);
  if (definition?.type !== "object") {
    return { ok: false, error: `The draft in the editor of the spec has no ${type}.${event}.` };
  }
  const read = readHandlerText(handler);
  if (!read.ok) return { ok: false, error: `The handler cannot be copied. ${read.error}` };
  return { ok: true, text: withHandler(spec, definition, handler.trim()) };
}

/** Of two members with one name, the last one counts, as for JSON.parse(). */
function memberOf(node: JsonNode | undefined, name: string): JsonNode | undefined {
  if (node?.type !== "object") return undefined;
  const member = node.children?.findLast(({ children }) => children?.[0]?.value === name);
  return member?.children?.[1];
}

function withHandler(spec: string, definition: JsonNode, handler: string): string {
  const known = memberOf(definition, "handler");
  if (known !== undefined) {
    const { offset, length } = known;
    const put = indented(handler, indentAt(spec, known.parent!.offset));
    return spec.slice(0, offset) + put + spec.slice(offset + length);
  }
  const last = definition.children!.at(-1);
  const at = last === undefined ? definition.offset + 1 : last.offset + last.length;
  const indent = indentAt(spec, at);
  // On a line of its own where the member before it has one.
  const isAlone = last !== undefined && spec.lastIndexOf("\n", at) > definition.offset;
  const before = last === undefined ? "" : isAlone ? `,\n${indent}` : ", ";
  return `${spec.slice(0, at)}${before}"handler": ${indented(handler, indent)}${spec.slice(at)}`;
}

/** The white space before the first character of the line. */
function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))![0];
}

/** No text of JSON holds a line break, so each one stands between two parts. */
function indented(handler: string, indent: string): string {
  return handler.replaceAll("\n", `\n${indent}`);
}
