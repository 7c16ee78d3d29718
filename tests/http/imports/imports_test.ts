/** Events of one body as lines: in time slices, and nothing behind the limit of a line. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import { createApp } from "../../../src/http/app.ts";
import type { Service } from "../../../src/features/service.ts";
import { quietHost, scriptService, TEST_LISTENER, TOKENS } from "../scripted_service.ts";

/** The lines that an import gets of these events. */
async function linesOf(events: unknown): Promise<string[]> {
  let text = "";
  const imports = {
    async run(_tenant: unknown, { pieces }: { pieces(): AsyncIterable<{ value: Uint8Array }> }) {
      const decoder = new TextDecoder();
      for await (const { value } of pieces()) text += decoder.decode(value, { stream: true });
      return { ok: false, refusal: { kind: "write_invalid", message: "enough" } };
    },
  };
  const service = { ...scriptService().service, imports } as unknown as Service;
  const app = createApp(service, quietHost(), TEST_LISTENER);
  const response = await app.fetch(
    new Request("http://127.0.0.1/_admin/import?instance_id=x&environment=test", {
      method: "POST",
      headers: { authorization: `Bearer ${TOKENS.operator}`, "content-type": "application/json" },
      body: JSON.stringify({ events }),
    }),
  );
  const answer = await response.text();
  assert.equal(response.status, 422, answer);
  assert.equal(text.at(-1), "\n");
  return text.slice(0, -1).split("\n");
}

Deno.test("of an event of megabytes no more is written than makes its line too long", async () => {
  const long = { data: Array(70).fill(Array(10_000).fill(0)) };
  const [before, line, after] = await linesOf([{ n: 1 }, long, { n: 2 }]);
  assert.deepEqual([before, after], ['{"n":1}', '{"n":2}']);
  const more = line!.length - limits.importLineBytesMax;
  assert.ok(more > 0 && more < 10, `${more} characters more than the limit`);
});
