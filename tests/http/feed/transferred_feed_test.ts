/** Readers of an environment that a transfer fills while they wait. */

import assert from "node:assert/strict";
import { systemHost } from "../../../src/host.ts";
import { makeKey } from "../../support/access_fixtures.ts";
import { OPERATOR, uuid, valueOf } from "../../support/service_fixture.ts";
import { exportText, imported, importText } from "../../support/transfer_fixtures.ts";
import { readFrames, withFeedServer } from "./feed_server.ts";

Deno.test("who waits for an empty environment hears of what a transfer brings, from the cursor that was kept", () =>
  withFeedServer(async (world) => {
    const { access, engine, host, tenants: { test } } = world;
    await world.note("a", "bb");
    const mill = valueOf(await access.createInstance("mill", "unlimited"));
    const empty = valueOf(await access.resolveTenant(OPERATOR, mill.id, "test"));
    const { key } = await makeKey(engine, host, empty, "read");
    const { next } = await (await world.get("?from=now", { key })).json();
    const live = readFrames(await world.get("?live=sse", { key }));
    await live.take(1);

    const text = await exportText(engine, systemHost(), test);
    imported(await importText(engine, systemHost(), text, { slug: "mill" }));

    const beganMs = Date.now();
    assert.deepEqual(await live.rest(), []);
    assert.ok(Date.now() - beganMs < 5_000, "the live answer ends, and its client comes again");
    const again = readFrames(await world.get(`?live=sse&from=${next}`, { key }));
    const frames = await again.take(3);
    assert.deepEqual(frames.map(({ type }) => type), ["event", "event", "caught_up"]);
    assert.deepEqual(
      frames.slice(0, 2).map(({ data }) => [data.event.key, data.event.data.text]),
      [[`order:${uuid(1)}`, "a"], [`order:${uuid(2)}`, "bb"]],
    );
    await again.cancel();
  }));
