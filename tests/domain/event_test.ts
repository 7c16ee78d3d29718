/**
 * Events as stored and as listed; the field order is part of the format. See
 * docs/reference/writing.md.
 */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import {
  decodeEvent,
  encodeEvent,
  encodeMetadata,
  eventId,
  parseEventId,
  parseStart,
  typeOfEvent,
} from "../../src/domain/event.ts";
import type { JsonObject } from "../../src/domain/json.ts";

const actor = { type: "user", id: "global" };

Deno.test("encodeEvent() is the JSON of key, type, data, metadata in this order", () => {
  const data = { total: 12.5, note: 'say "hi"' };
  const metadata = encodeMetadata({ actor, timestamp: 1700000000 });
  const event = encodeEvent({
    key: "order:global",
    type: "was_placed",
    dataJson: JSON.stringify(data),
    metadataJson: metadata,
  });
  const expected = '{"key":"order:global","type":"was_placed",' +
    '"data":{"total":12.5,"note":"say \\"hi\\""},' +
    '"metadata":{"actor":{"type":"user","id":"global"},"timestamp":1700000000}}';
  assert.equal(event.raw, expected);
  assert.equal(event.bytes, expected.length);
});

Deno.test("encodeEvent() equals JSON.stringify of the whole event, and decodes to it", () => {
  fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (data) => {
    const sent = JSON.parse(JSON.stringify(data)) as JsonObject;
    const metadata = { actor, timestamp: 1 };
    const whole = { key: "order:global", type: "was_noted", data: sent, metadata };
    const json = JSON.stringify(sent);
    const event = encodeEvent({
      key: whole.key,
      type: whole.type,
      dataJson: json,
      metadataJson: encodeMetadata(metadata),
    });
    assert.equal(event.raw, JSON.stringify(whole));
    assert.equal(event.bytes, Buffer.from(event.raw, "utf8").length);
    assert.deepEqual(decodeEvent(event.raw), JSON.parse(JSON.stringify(whole)));
  }));
});

Deno.test("typeOfEvent() reads the type of an event, whatever its key and data", () => {
  const names = fc.tuple(fc.string(), fc.string());
  fc.assert(fc.property(names, fc.jsonValue(), ([key, type], data) => {
    const dataJson = JSON.stringify({ type: data });
    const { raw } = encodeEvent({ key, type, dataJson, metadataJson: "{}" });
    assert.equal(typeOfEvent(raw), type);
  }));
});

Deno.test("encodeMetadata() keeps the decided order and leaves out what is absent", () => {
  const full = encodeMetadata({
    idempotency_key: "k-1",
    timestamp: 5,
    previous_length: 0,
    target: { id: "4F7K2M9QX", type: "customer" },
    actor: { id: "global", type: "user" },
  });
  const expected = '{"actor":{"type":"user","id":"global"},' +
    '"target":{"type":"customer","id":"4F7K2M9QX"},"previous_length":0,"timestamp":5,' +
    '"idempotency_key":"k-1"}';
  assert.equal(full, expected);
  assert.equal(
    encodeMetadata({ actor, timestamp: 5 }),
    '{"actor":{"type":"user","id":"global"},"timestamp":5}',
  );
});

Deno.test("encodeMetadata() equals JSON.stringify, whatever is in its texts and which are there", () => {
  const party = fc.record({ type: fc.string({ unit: "binary" }), id: fc.string() });
  const metadata = fc.record({
    actor: party,
    target: fc.option(party, { nil: undefined }),
    previous_length: fc.option(fc.maxSafeNat(), { nil: undefined }),
    timestamp: fc.maxSafeNat(),
    idempotency_key: fc.option(fc.string({ unit: "binary" }), { nil: undefined }),
  });
  fc.assert(fc.property(metadata, (given) => {
    assert.equal(encodeMetadata(given), JSON.stringify(given));
  }));
});

Deno.test("encodeMetadata() puts what the service stamps behind it, in the decided order", () => {
  const scheduled = { fire_at: "2026-01-01T00:00:00.000Z", scheduled_id: "s" };
  const saga = { phase: "emit", step: "reserve", saga_id: "saga_1", name: "fulfil" } as const;
  const geo = { lng: 13.405, lat: 52.52, type: "place" };
  const implied_by = { depth: 1, stream_id: "0", event_type: "was_placed", key: "order:global" };
  assert.equal(
    encodeMetadata({ saga, geo, scheduled, implied_by, idempotency_key: "k", timestamp: 5, actor }),
    '{"actor":{"type":"user","id":"global"},"timestamp":5,"idempotency_key":"k",' +
      '"implied_by":{"key":"order:global","event_type":"was_placed","stream_id":"0","depth":1},' +
      '"scheduled":{"scheduled_id":"s","fire_at":"2026-01-01T00:00:00.000Z"},' +
      '"geo":{"type":"place","lat":52.52,"lng":13.405},' +
      '"saga":{"name":"fulfil","saga_id":"saga_1","step":"reserve","phase":"emit"}}',
  );
});

Deno.test("eventId() is the index as 12 decimal digits, and parseEventId() reads it back", () => {
  assert.equal(eventId(0), "000000000000");
  assert.equal(eventId(41), "000000000041");
  for (const index of [0, 1, 999, 123_456_789_012]) {
    assert.equal(parseEventId(eventId(index)), index);
  }
});

Deno.test("parseEventId() takes 12 digits and nothing else", () => {
  const others = ["", "0", "00000000000", "0000000000000", "-00000000001", "00000000000a", "1e5"];
  for (const text of others) assert.equal(parseEventId(text), undefined);
});

Deno.test("parseStart() reads the id of an event, takes none, and refuses anything else", () => {
  assert.deepEqual(parseStart("000000000017"), { ok: true, value: 17 });
  assert.deepEqual(parseStart(undefined), { ok: true, value: undefined });
  for (const start of ["", "17", "00000000001x", "0000000000017"]) {
    const outcome = parseStart(start);
    assert.equal(outcome.ok || outcome.refusal.kind, "bad_request", start);
  }
});
