/** The document itself: valid by others' judgement, complete, and true to the deployed spec. */

import assert from "node:assert/strict";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonObject } from "../../../src/domain/json.ts";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";
import {
  API_VERSION,
  type DescribedSpec,
  openApiDocument,
  openApiSteps,
} from "../../../src/http/openapi/document.ts";
import { PATHS } from "../../../src/http/paths.ts";
import { everyKeywordSpec } from "../../support/every_keyword_spec.ts";
import { exampleSpec } from "../../support/example_spec.ts";
import { openApiSpec } from "../../end_to_end/openapi_spec.ts";

const GENERIC = openApiDocument(PATHS);

function documentOf(spec: JsonObject): JsonObject {
  return openApiDocument(PATHS, { spec, spec_hash: "0".repeat(64), version: 3 });
}

const DOCUMENTS: readonly (readonly [name: string, document: JsonObject])[] = [
  ["generic", GENERIC],
  ["of a spec with every feature", documentOf(openApiSpec)],
  ["of the example spec", documentOf(exampleSpec)],
  ["of a spec with every keyword", documentOf(everyKeywordSpec)],
];

Deno.test("every refusal of the document has an error_type", () => {
  const { schemas } = GENERIC.components as Record<string, JsonObject>;
  const refusals = Object.entries(schemas as Record<string, JsonObject>)
    .filter(([, schema]) => (schema.properties as JsonObject)?.ok !== undefined)
    .filter(([, schema]) => ((schema.properties as JsonObject).ok as JsonObject).const === false);
  assert.ok(refusals.length > 30, String(refusals.length));
  for (const [name, { required, properties }] of refusals) {
    assert.ok((required as string[]).includes("error_type"), name);
    const { const: only, enum: some } = (properties as JsonObject).error_type as JsonObject;
    assert.ok(typeof only === "string" || Array.isArray(some), name);
  }
});

for (const [name, document] of DOCUMENTS) {
  Deno.test(`the document (${name}) is valid OpenAPI 3.1`, async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone(document));
    assert.ok(valid, JSON.stringify(errors, null, 2));
    assert.equal(validator.version, "3.1");
  });

  Deno.test(`each schema of the document (${name}) is one of Draft 2020-12, without loose ends`, () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const { schemas } = document.components as Record<string, JsonObject>;
    ajv.addSchema(
      { ...document, $id: "http://localhost/document" } as JsonObject,
      undefined,
      undefined,
      false,
    );
    for (const key of Object.keys(schemas!)) {
      assert.ok(ajv.validateSchema(schemas![key] as JsonObject), key);
      assert.ok(ajv.compile({ $ref: `http://localhost/document#/components/schemas/${key}` }), key);
    }
    for (const reference of new Set(JSON.stringify(document).match(/#\/components\/[^"]*/g))) {
      const [, area, kind, key] = decodeURIComponent(reference).split("/");
      const found = (document[area!] as Record<string, JsonObject>)[kind!]!;
      assert.ok(key! in found, reference);
    }
  });

  Deno.test(`each operation of the document (${name}) has a name of its own`, () => {
    const ids = JSON.stringify(document).match(/"operationId":"[^"]*"/g)!;
    assert.equal(new Set(ids).size, ids.length);
  });
}

interface Media {
  readonly schema: JsonObject;
  readonly example?: unknown;
}

/** Each request body with the id of its operation. */
function bodiesOf(document: JsonObject): [id: string, type: string, media: Media][] {
  const items = Object.values(document.paths as Record<string, Record<string, JsonObject>>);
  return items.flatMap((item) => Object.values(item)).flatMap(({ operationId, requestBody }) => {
    const content = (requestBody as JsonObject | undefined)?.content ?? {};
    return Object.entries(content).map(([type, media]): [string, string, Media] => [
      operationId as string,
      type,
      media as unknown as Media,
    ]);
  });
}

for (const [name, document] of DOCUMENTS) {
  Deno.test(`each example of the document (${name}) is a body that its schema takes`, () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const [id, type, { schema, example }] of bodiesOf(document)) {
      if (example === undefined) {
        const isLeftOut = type === "multipart/form-data" || /order\.|order_was|write/.test(id);
        assert.ok(isLeftOut, `${id} has no example`);
        continue;
      }
      const validate = ajv.compile({ ...schema, components: document.components } as JsonObject);
      assert.ok(validate(example), `${id}: ${ajv.errorsText(validate.errors)}`);
    }
  });
}

Deno.test("every operation of the generic document with a body of JSON has an example", () => {
  for (const [id, type, { example }] of bodiesOf(GENERIC)) {
    assert.equal(example !== undefined, type !== "multipart/form-data", id);
  }
});

Deno.test("a write of an event shows data that its schema takes, if such is easily made", () => {
  const bodies = new Map(bodiesOf(documentOf(exampleSpec)).map(([id, , media]) => [id, media]));
  const shown = [...bodies].filter(([id, { example }]) => id.startsWith("writeEvent.") && example);
  assert.ok(shown.length > 0);
  const none = specOf(1, { type: "object", required: ["a"], properties: { a: { pattern: "b" } } });
  const [write] = bodiesOf(openApiDocument(PATHS, none)).filter(([id]) => id.startsWith("writeE"));
  assert.equal(write![2].example, undefined);
});

Deno.test("two events whose names read alike have two schemas and two operations", () => {
  const event = { schema: { type: "object" }, handler: [] };
  const { paths, components } = documentOf({
    agent_types: ["user"],
    aggregate_types: {
      order: { events: { was_made: event } },
      order_was: { events: { made: event } },
    },
  }) as unknown as { paths: Record<string, Record<string, JsonObject>>; components: JsonObject };
  assert.ok("order.was_made" in (components.schemas as JsonObject));
  assert.ok("order_was.made_2" in (components.schemas as JsonObject));
  assert.equal(paths["/order/{id}/was_made"]!.post!.operationId, "writeEvent.order.was_made");
  assert.equal(paths["/order_was/{id}/made"]!.post!.operationId, "writeEvent.order_was.made_2");
});

Deno.test("each refusal of one status shows by its error_type which one it is", () => {
  const { paths, components } = GENERIC as unknown as {
    paths: Record<string, Record<string, { responses: Record<string, JsonObject> }>>;
    components: { schemas: Record<string, JsonObject> };
  };
  let unions = 0;
  for (const { responses } of Object.values(paths).flatMap((item) => Object.values(item))) {
    for (const [status, { content }] of Object.entries(responses)) {
      const media = (content as Record<string, Media> | undefined)?.["application/json"];
      const forms = media?.schema.oneOf as { $ref: string }[] | undefined;
      if (Number(status) < 400 || forms === undefined) continue;
      unions++;
      const { mapping } = media!.schema.discriminator as { mapping: Record<string, string> };
      const told = forms.flatMap(({ $ref }) => {
        const { properties } = components.schemas[$ref.split("/").at(-1)!]!;
        const { const: only, enum: some } = (properties as JsonObject).error_type as JsonObject;
        return (some as string[] ?? [only]).map((type) => [type, $ref]);
      });
      assert.deepEqual(mapping, Object.fromEntries(told));
      assert.equal(Object.keys(mapping).length, told.length, "no type means two schemas");
    }
  }
  assert.ok(unions > 20, `${unions}`);
});

Deno.test("the version of the document is that of the package", async () => {
  const file = new URL("../../../deno.json", import.meta.url);
  assert.equal(API_VERSION, JSON.parse(await Deno.readTextFile(file)).version);
});

Deno.test("each writable event of the spec has a path, and its data the event's own schema", () => {
  const document = documentOf(openApiSpec);
  const paths = Object.keys(document.paths as JsonObject);
  const types = openApiSpec.aggregate_types as Record<string, { events: JsonObject }>;
  for (const [type, { events }] of Object.entries(types)) {
    for (
      const path of [`/${type}`, `/${type}/{id}`, `/${type}/{id}/length`, `/${type}/{id}/events`]
    ) {
      assert.ok(paths.includes(path), path);
    }
    for (const event of Object.keys(events)) {
      assert.equal(paths.includes(`/${type}/{id}/${event}`), !event.startsWith("_"), event);
    }
  }
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(
    { ...document, $id: "http://localhost/document" } as JsonObject,
    undefined,
    undefined,
    false,
  );
  const accepts = (path: string, body: JsonObject) => {
    const place = encodeURIComponent(path.replaceAll("/", "~1"));
    const schema = `paths/${place}/post/requestBody/content/application~1json/schema`;
    return ajv.validate(`http://localhost/document#/${schema}`, body);
  };
  const metadata = { actor: { type: "user", id: "global" } };
  const single = "/order/{id}/was_noted";
  assert.ok(accepts(single, { data: { text: "short" }, metadata }));
  assert.ok(!accepts(single, { data: { text: "longer than that" }, metadata }));
  assert.ok(!accepts(single, { data: {}, metadata: { actor: { type: "cat", id: "global" } } }));
  const batch = (type: string, text: string) => ({ events: [{ type, data: { text } }], metadata });
  assert.ok(accepts("/order/{id}", batch("was_noted", "short")));
  assert.ok(!accepts("/order/{id}", batch("was_noted", "longer than that")));
  assert.ok(!accepts("/order/{id}", batch("was_lost", "short")));
});

function specOf(eventTypes: number, schema: JsonObject): DescribedSpec {
  const events = Object.fromEntries(
    Array.from({ length: eventTypes }, (_, index) => [`was_${index}`, { schema, handler: [] }]),
  );
  const spec = { agent_types: ["user"], aggregate_types: { order: { events } } };
  return { spec, spec_hash: "0".repeat(64), version: 1 };
}

function described(deployed: DescribedSpec) {
  const text = runAtOnce(openApiSteps(PATHS, deployed));
  assert(text.length <= 4 * 1024 * 1024, `${text.length}`);
  const { info, paths, components } = JSON.parse(text);
  const schema = components.schemas["order.was_0"];
  return { note: info.description as string, hasPaths: "/order/{id}/was_0" in paths, schema };
}

Deno.test("a spec whose schemas would make the document too long is described without them", () => {
  const { note, hasPaths, schema } = described(specOf(10, { description: "x".repeat(500_000) }));
  assert.match(note, /schemas of this spec's events are left out/);
  assert(hasPaths);
  assert.match(schema.description, /^Left out/);
});

Deno.test("a spec whose paths would make the document too long has the generic one", () => {
  const { note, hasPaths, schema } = described(specOf(2_000, { type: "object" }));
  assert.match(note, /paths of this spec's types are left out/);
  assert(!hasPaths);
  assert.equal(schema, undefined);
});

Deno.test("a schema is in the document once, however many bodies refer to it", () => {
  const text = runAtOnce(openApiSteps(PATHS, specOf(3, { description: "only once, please" })));
  assert.equal(text.split("only once, please").length - 1, 3);
});

Deno.test("the answer of a read has the state of its type, by its handlers", () => {
  const event = (handler: JsonObject | JsonObject[], schema: JsonObject | true = true) => ({
    schema,
    handler,
  });
  const line = { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] };
  const { paths, components } = documentOf({
    agent_types: ["user"],
    aggregate_types: {
      order: {
        events: {
          was_placed: event([
            { increment: { target: "n" } },
            { append: { target: "lines", value: "$.data.line" } },
          ], {
            type: "object",
            properties: { line: { $ref: "#/$defs/line" } },
            required: ["line"],
            $defs: { line },
          }),
        },
      },
      free: { events: { was_done: event({ wasm: { blob: "b", function: "f" } }) } },
    },
  }) as Record<string, Record<string, JsonObject>>;
  const { schemas } = components as Record<string, JsonObject>;
  function stateOf(type: string): unknown {
    const path = paths![`/${type}/{id}`] as { get: JsonObject };
    const { 200: answer } = path.get.responses as Record<string, { content: JsonObject }>;
    const { schema } = answer!.content["application/json"] as { schema: JsonObject };
    const { $ref } = (schema.properties as { data: { $ref: string } }).data;
    return schemas![$ref.slice("#/components/schemas/".length)];
  }
  assert.deepEqual(stateOf("order"), {
    type: "object",
    properties: {
      n: { type: "integer" },
      lines: { type: "array", items: { $ref: "#/components/schemas/order.state.line" } },
    },
    additionalProperties: false,
  });
  assert.deepEqual(schemas!["order.state.line"], line);
  assert.deepEqual(stateOf("free"), { type: "object" });
});
