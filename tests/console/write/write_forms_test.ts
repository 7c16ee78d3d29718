/** The OpenAPI document as what can be written. */

import assert from "node:assert/strict";
import { writeFormsOf } from "../../../console/src/write/write_forms.ts";

function bodyOf(name: string): object {
  const properties = { data: { $ref: `#/components/schemas/${name}` }, metadata: {} };
  return { post: { requestBody: { content: { "application/json": { schema: { properties } } } } } };
}

Deno.test("Types with their events, actors and targets are found, other paths are not", () => {
  const forms = writeFormsOf({
    paths: {
      "/order/{id}": bodyOf("batch"),
      "/order/{id}/length": { get: {} },
      "/order/{id}/was_placed": bodyOf("order.was_placed"),
      "/order/{id}/was_paid": bodyOf("order.was_paid"),
      "/_admin/{id}/import": bodyOf("import"),
      "/customer/{id}/was_named": bodyOf("customer.was_named"),
    },
    components: {
      schemas: {
        WriteMetadata: {
          properties: {
            actor: { properties: { type: { enum: ["user", "staff"] } } },
            target: { properties: { type: { enum: ["customer"] } } },
          },
        },
      },
    },
  });
  assert.deepEqual([...forms.types.keys()], ["order", "customer"]);
  assert.deepEqual([...forms.types.get("order")!], [
    ["was_placed", { $ref: "#/components/schemas/order.was_placed" }],
    ["was_paid", { $ref: "#/components/schemas/order.was_paid" }],
  ]);
  assert.deepEqual(forms.actorTypes, ["user", "staff"]);
  assert.deepEqual(forms.targetTypes, ["customer"]);
});

Deno.test("A document without types, or of another form, has nothing to write", () => {
  for (const root of [{ paths: { "/{type}/{id}/{event}": bodyOf("EventData") } }, {}, null, []]) {
    const forms = writeFormsOf(root);
    assert.equal(forms.types.size, 0);
    assert.deepEqual(forms.actorTypes, []);
  }
});
