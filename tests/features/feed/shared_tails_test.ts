/** Tails that live readers share: each page is read once, and nobody gets one that is too old. */

import assert from "node:assert/strict";
import { openSpecCache } from "../../../src/features/base/current_spec.ts";
import { openPageTurns } from "../../../src/features/feed/page_turns.ts";
import {
  type Heard,
  openSharedTails,
  type SharedTailRequest,
} from "../../../src/features/feed/shared_tails.ts";
import { erase } from "../../support/erasure_fixtures.ts";
import { noteWrite, uuid, valueOf, withService } from "../../support/service_fixture.ts";

const NOTHING: Heard = { generation: 0, length: 0 };
const NAME = { aggregateType: "order", id: uuid(1) };
const REQUEST = { ...NAME, limit: 10, bytesMax: 100_000, heard: NOTHING };

interface World {
  readonly read: (change?: Partial<SharedTailRequest>) => ReturnType<
    ReturnType<typeof openSharedTails>
  >;
  readonly write: (text: string) => Promise<void>;
  readonly erase: () => Promise<void>;
  /** How many pages were read. */
  readonly count: () => number;
  /** What followers were told of. */
  readonly seen: { changes: number; readonly place: undefined };
}

function withTails(body: (world: World) => Promise<void>): Promise<void> {
  return withService(async (fixture) => {
    const { service, engine, host, tenants: { test } } = fixture;
    const specs = openSpecCache(engine, host);
    const inner = openPageTurns(host, false);
    let count = 0;
    const seen = { changes: 1, place: undefined };
    const read = openSharedTails({
      engine,
      specs,
      turns: { run: (tenant, read) => (count++, inner.run(tenant, read)) },
      seen: () => seen,
    });
    try {
      await body({
        read: (change) => read(test, { ...REQUEST, ...change }),
        async write(text) {
          valueOf(await service.data.writeEvents(test, noteWrite(NAME.id, text)));
        },
        erase: async () => void await erase(fixture, `order:${NAME.id}`),
        count: () => count,
        seen,
      });
    } finally {
      await specs.close();
    }
  });
}

Deno.test("hundreds that want the same page of a stream share one read, at once and later", () =>
  withTails(async ({ read, write, count }) => {
    await write("a");
    const pages = await Promise.all(Array.from({ length: 300 }, () => read()));
    pages.push(await read());
    assert.equal(count(), 1, "read in turns, and once");
    assert.ok(pages.every((page) => page.ok && pages[0]!.ok && page.value === pages[0]!.value));
  }));

Deno.test("another stream, start or size is another page", () =>
  withTails(async ({ read, write, count }) => {
    await write("a");
    const changes = [{}, { id: uuid(2) }, { start: "000000000000" }, { limit: 1 }, { bytesMax: 9 }];
    for (const change of changes) valueOf(await read(change));
    assert.equal(count(), changes.length);
  }));

Deno.test("after a commit that followers were told of, a page is read anew", () =>
  withTails(async ({ read, write, seen }) => {
    await write("a");
    valueOf(await read());
    await write("b");
    seen.changes++;
    assert.equal(valueOf(await read()).length, 2);
  }));

Deno.test("who has heard of more than a shared page has gets one of its own", () =>
  withTails(async ({ read, write }) => {
    await write("a");
    const { generation } = valueOf(await read());
    await write("b");
    assert.equal(valueOf(await read({ heard: { generation, length: 1 } })).length, 1);
    assert.equal(valueOf(await read({ heard: { generation, length: 2 } })).length, 2);
  }));

Deno.test("who has heard of an erasure gets no event from before it", () =>
  withTails(async ({ read, write, erase }) => {
    await write("secret");
    const before = valueOf(await read());
    assert.match(before.entries[0]!.raw, /secret/);
    await erase();
    const after = valueOf(await read({ start: "000000000000" }));
    assert.ok(after.generation > before.generation);
    const markers = valueOf(await read({ heard: after }));
    assert.equal(markers.generation, after.generation);
    assert.doesNotMatch(markers.entries[0]!.raw, /secret/);
  }));

Deno.test("a refusal is nobody else's", () =>
  withTails(async ({ read, count }) => {
    const refused = await read({ aggregateType: "unknown" });
    assert.equal(refused.ok, false);
    assert.equal(count(), 0);
  }));
