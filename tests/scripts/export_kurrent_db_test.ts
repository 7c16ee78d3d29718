/** The lines of the script are what `migrate` reads. */

import assert from "node:assert/strict";
import { lineOfEvent, type RecordedEvent } from "../../scripts/export_kurrent_db.ts";
import { readKurrentRecord } from "../../src/domain/migrate/sources/kurrent_db.ts";

const EVENT: RecordedEvent = {
  streamId: "order-7",
  id: "fbf4a1a1-b4a3-4dfe-a01f-ec52c34e16e4",
  revision: 9_007_199_254_740_993n,
  type: "OrderPlaced",
  created: new Date("2024-03-01T10:00:00.250Z"),
  isJson: true,
  data: { total: 7.5 },
  metadata: { $correlationId: "c" },
  position: { commit: 9_007_199_254_740_995n },
};

Deno.test("lineOfEvent() writes what the reader of KurrentDB takes, with numbers of 64 bits", () => {
  const read = readKurrentRecord(JSON.parse(lineOfEvent(EVENT)!), {
    text: undefined,
    parse: JSON.parse,
  });
  assert.ok(read.ok);
  assert.deepEqual(read.events, [{
    stream: "order-7",
    category: "order",
    entity: "7",
    type: "OrderPlaced",
    data: { total: 7.5 },
    id: "fbf4a1a1-b4a3-4dfe-a01f-ec52c34e16e4",
    time: "2024-03-01T10:00:00.250Z",
    timeMs: Date.UTC(2024, 2, 1, 10, 0, 0, 250),
    position: "9007199254740995",
    index: undefined,
    correlationId: "c",
    causationId: undefined,
    rest: {},
  }]);
});

Deno.test("lineOfEvent() writes bytes as base64, and nothing of the database itself", () => {
  const bytes = { ...EVENT, isJson: false, data: Uint8Array.of(1, 2), metadata: Uint8Array.of() };
  const { data, metadata } = JSON.parse(lineOfEvent(bytes)!);
  assert.deepEqual([data, metadata], ["AQI=", undefined]);
  assert.equal(lineOfEvent({ ...EVENT, streamId: "$ce-order" }), undefined);
  assert.equal(lineOfEvent({ ...EVENT, type: "$metadata" }), undefined);
});
