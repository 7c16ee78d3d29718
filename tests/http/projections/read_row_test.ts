/** `GET /_projections/{name}/{key}`: the text of the answer, and turns of those that ask. */

import assert from "node:assert/strict";
import type { RowView } from "../../../src/domain/projection/status.ts";
import { accept } from "../../../src/domain/refusal.ts";
import type { Service } from "../../../src/features/service.ts";
import { createApp } from "../../../src/http/app.ts";
import { makeKey } from "../../support/access_fixtures.ts";
import { withService } from "../../support/service_fixture.ts";

type ReadRow = Service["projections"]["readRow"];

/** Calls `body` with what gets a row from a server whose rows are read by `readRow`. */
function withRows(
  readRow: ReadRow,
  body: (get: (query: string) => Promise<Response>) => Promise<void>,
): Promise<void> {
  return withService(async ({ service, engine, host, tenants: { test } }) => {
    const { key } = await makeKey(engine, host, test, "read");
    const clientAddress = (peer: string) => peer;
    const environment = { kind: "listener", environment: "test" } as const;
    const projections = { ...service.projections, readRow };
    const options = { headerPrefix: "SVC", environment, clientAddress };
    const app = createApp({ ...service, projections }, host, options);
    const headers = { authorization: `Bearer ${key}` };
    await body(async (query) =>
      await app.fetch(new Request(`http://127.0.0.1/_projections/p/a${query}`, { headers }))
    );
  });
}

function viewOf(data: unknown): RowView {
  const metadata = { key: "a", updated_at: 5, position: 3, error: undefined };
  return { dataJson: JSON.stringify(data), metadata };
}

Deno.test("a row is sent as it is stored, with its metadata and what it lacks", () => {
  const view = { ...viewOf({ "a b": [{}, null] }), stale: true, lag: 7 } as const;
  return withRows(() => Promise.resolve(accept(view)), async (get) => {
    const response = await get("");
    assert.equal(response.headers.get("x-svc-projection-lag"), "7");
    assert.equal(
      await response.text(),
      '{"ok":true,"data":{"a b":[{},null]},"metadata":{"key":"a","updated_at":5,"position":3},' +
        '"stale":true}',
    );
  });
});

for (const [query, most] of [["?synchronous=true", 4], ["", 1]] as const) {
  Deno.test(`of 40 long rows that are asked for${query}, at most ${most} are made at a time`, () => {
    let [running, seen] = [0, 0];
    async function readRow() {
      seen = Math.max(seen, ++running);
      await new Promise((resolve) => setTimeout(resolve, 1));
      running--;
      return accept(viewOf({ text: "x".repeat(300_000) }));
    }
    return withRows(readRow, async (get) => {
      // The first shows that the owner makes long reads.
      await (await get(query)).text();
      seen = 0;
      const answers = await Promise.all(Array.from({ length: 40 }, async () => {
        const response = await get(query);
        await response.body?.cancel();
        return response.status;
      }));
      assert.ok(answers.includes(200));
      assert.ok(seen <= most, `${seen} at a time`);
    });
  });
}
