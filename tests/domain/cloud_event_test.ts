/** Events of ours as CloudEvents, judged by the rules of the specification and read back. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { cloudEventSource, encodeCloudEvent } from "../../src/domain/cloud_event.ts";
import { encodeMetadata } from "../../src/domain/event.ts";
import { applyMap, parseMap } from "../../src/domain/migrate/map.ts";
import { readCloudEvent } from "../../src/domain/migrate/sources/cloud_events.ts";

const SOURCE = cloudEventSource({ instanceId: "ins_1", environment: "test" });
const RAW = '{"key":"order:7KD2M9QXA","type":"was_placed","data":{"customer":"Ada"},"metadata":' +
  '{"actor":{"type":"user","id":"global"},"target":{"type":"customer","id":"global"},' +
  '"timestamp":1764158400}}';

Deno.test("encodeCloudEvent() has the attributes of the reference, in their order", () => {
  const text = encodeCloudEvent({ source: SOURCE, index: 3, hash: "ab", raw: RAW });
  assert.equal(
    text,
    '{"specversion":"1.0","id":"order:7KD2M9QXA/3","source":"/instances/ins_1/test",' +
      '"type":"order.was_placed","subject":"order:7KD2M9QXA","time":"2025-11-26T12:00:00.000Z",' +
      '"datacontenttype":"application/json","streamindex":3,"chainhash":"ab","actor":"user:global",' +
      '"target":"customer:global","data":{"customer":"Ada"}}',
  );
});

Deno.test("encodeCloudEvent() gives names of attributes and values that CloudEvents 1.0 allows", () => {
  const more = { deliveryid: "dlv_1", listener: "hook", attempt: 1 };
  const event = JSON.parse(
    encodeCloudEvent({ source: SOURCE, index: 0, hash: "ab", raw: RAW, more }),
  );
  for (const [name, value] of Object.entries(event)) {
    if (name === "data") continue;
    assert.match(name, /^[a-z0-9]{1,20}$/);
    const isInteger = Number.isInteger(value) && Math.abs(value as number) < 2 ** 31;
    assert.ok(isInteger || (typeof value === "string" && value !== ""), name);
  }
  assert.ok(URL.canParse(event.source, "https://example.com"), "a URI reference");
});

Deno.test("what encodeCloudEvent() writes is read back with key, type, data, actor, target and time", () => {
  const data = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(data, fc.nat(4_000_000_000), fc.uuid({ version: 4 }), (data, timestamp, id) => {
      const [actor, target] = [{ type: "user", id }, { type: "customer", id: "global" }];
      const read = JSON.parse(JSON.stringify(data));
      const metadata = encodeMetadata({ actor, target, timestamp });
      const raw = `{"key":"order:${id}","type":"was_placed","data":${JSON.stringify(read)},` +
        `"metadata":${metadata}}`;
      const found = readCloudEvent(
        JSON.parse(encodeCloudEvent({ source: SOURCE, index: 7, hash: "ab", raw })),
      );
      assert.ok(found.ok);
      const parsed = parseMap({
        streams: { order: { type: "order", events: { "order.was_placed": "was_placed" } } },
        actor: { party: "actor" },
        target: { party: "target" },
      });
      assert.ok(parsed.ok);
      const mapped = applyMap(parsed.map, "cloudevents", new Set())(found.events[0]!);
      assert.ok(mapped.kind === "event");
      const { metadata: { origin: _, ...kept }, ...event } = mapped.event as {
        metadata: { origin: unknown };
      };
      assert.deepEqual({ ...event, metadata: kept }, JSON.parse(raw));
      assert.equal(found.events[0]!.index, 7);
    }),
  );
});
