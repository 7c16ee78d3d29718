/** Puts an edited handler into the text of a spec. */

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
  let document: unknown;
  try {
    document = JSON.parse(spec);
  } catch {
    return { ok: false, error: "The draft in the editor of the spec is not JSON yet." };
  }
  const definition = ["aggregate_types", type, "events", event].reduce<unknown>(own, document);
  if (typeof definition !== "object" || definition === null) {
    return { ok: false, error: `The draft in the editor of the spec has no ${type}.${event}.` };
  }
  try {
    (definition as { handler: unknown }).handler = JSON.parse(handler);
  } catch {
    return { ok: false, error: "The handler is not JSON yet." };
  }
  return { ok: true, text: `${JSON.stringify(document, null, 2)}\n` };
}

function own(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}
