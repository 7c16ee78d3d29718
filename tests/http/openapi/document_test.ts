/** The document itself: valid by others' judgement, complete, and true to the deployed spec. */

import assert from "node:assert/strict";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonObject } from "../../../src/domain/json.ts";
import { API_VERSION, openApiDocument } from "../../../src/http/openapi/document.ts";
import { OPERATIONS, TAGS } from "../../../src/http/openapi/operations.ts";
import { PATHS } from "../../../src/http/paths.ts";
import { exampleSpec } from "../../support/example_spec.ts";
import { openApiSpec } from "../../end_to_end/openapi_requests.ts";

const GENERIC = openApiDocument(PATHS);

function documentOf(spec: JsonObject): JsonObject {
  return openApiDocument(PATHS, { spec, spec_hash: "0".repeat(64), version: 3 });
}

const DOCUMENTS: readonly (readonly [name: string, document: JsonObject])[] = [
  ["generic", GENERIC],
  ["of a spec with every feature", documentOf(openApiSpec)],
  ["of the example spec", documentOf(exampleSpec)],
];

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

Deno.test("every route has a row in the tables of operations, and every row a route", () => {
  const routes = PATHS.flatMap(({ pattern, methods }) =>
    [...methods.keys()].map((method) => `${method} ${pattern}`)
  );
  assert.deepEqual(Object.keys(OPERATIONS).toSorted(), routes.toSorted());
  const rows = TAGS.flatMap(([, group]) => Object.keys(group));
  assert.deepEqual(rows.toSorted(), routes.toSorted());
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
