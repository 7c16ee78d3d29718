/** What can be written, taken from the OpenAPI document that the server makes for a key. */

/** The writable events of an environment. */
export interface WriteForms {
  readonly ok: true;
  /** The document, in which references are looked up. */
  readonly root: unknown;
  /** By aggregate type, then by event type: the schema of the data. */
  readonly types: ReadonlyMap<string, ReadonlyMap<string, unknown>>;
  readonly actorTypes: readonly string[];
  readonly targetTypes: readonly string[];
}

const EVENT_PATH = /^\/([a-z][a-z0-9_]*)\/\{id\}\/([a-z][a-z0-9_]*)$/;

export function writeFormsOf(root: unknown): WriteForms {
  const types = new Map<string, Map<string, unknown>>();
  for (const [path, methods] of Object.entries(at(root, "paths") ?? {})) {
    const [, type, event] = EVENT_PATH.exec(path) ?? [];
    const body = propertiesOf(methods);
    if (type === undefined || event === undefined || body === undefined) continue;
    const events = types.get(type) ?? new Map<string, unknown>();
    types.set(type, events.set(event, at(body, "data")));
  }
  const metadata = at(root, "components", "schemas", "WriteMetadata", "properties");
  return {
    ok: true,
    root,
    types,
    actorTypes: textsOf(at(metadata, "actor", "properties", "type", "enum")),
    targetTypes: textsOf(at(metadata, "target", "properties", "type", "enum")),
  };
}

function propertiesOf(methods: unknown): unknown {
  return at(methods, "post", "requestBody", "content", "application/json", "schema", "properties");
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
}

// deno-lint-ignore no-explicit-any
function at(value: any, ...names: readonly string[]): any {
  return names.reduce(
    (inner, name) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, name)
        ? inner[name]
        : undefined,
    value,
  );
}
