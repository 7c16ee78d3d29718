/**
 * Every source: records as its documentation has them, read and mapped to lines of an import. The
 * cases are data, one file for each source, each with the document that it is from.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { applyMap, parseMap } from "../../../src/domain/migrate/map.ts";
import { columnsOf, openEventReader } from "../../../src/domain/migrate/read_events.ts";
import type { SourceEvent } from "../../../src/domain/migrate/source_event.ts";
import { type SourceName, sourceNamed } from "../../../src/domain/migrate/sources.ts";
import { detectForm, splitRecords } from "../../../src/domain/migrate/split_records.ts";
import {
  createSurveyor,
  draftMap,
  draftSpec,
  lostFields,
} from "../../../src/domain/migrate/survey.ts";
import { checkImportedEvent } from "../../../src/domain/import/check_event.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { parseJsonObject } from "../../../src/http/decode/json_text.ts";
import { readGolden } from "../../support/golden_cases.ts";

interface Case {
  readonly name: string;
  /** Where the format is described. */
  readonly documented: string;
  readonly records?: readonly JsonObject[];
  /** Instead of records, the file itself. */
  readonly text?: string;
  readonly map?: JsonObject;
  readonly events?: readonly JsonObject[];
  readonly left_out?: number;
  readonly skipped?: number;
  readonly lost?: Readonly<Record<string, number>>;
  /** The rule by which a record or an event is refused. */
  readonly refused?: string;
}

const FILES: Readonly<Record<SourceName, string>> = {
  "cloudevents": "cloudevents",
  "message-db": "message_db",
  "emmett": "emmett",
  "marten": "marten",
  "kurrentdb": "kurrent_db",
  "eventsourcingdb": "event_sourcing_db",
  "ndjson": "ndjson",
  "csv": "csv",
};

/** Reads the file as `migrate` does: once for the draft, and once with the map. */
function migrate(source: SourceName, { map: document = {} }: Case, bytes: Uint8Array) {
  const parsed = parseMap(document);
  assert.ok(parsed.ok, JSON.stringify(parsed));
  const surveyor = createSurveyor(parsed.map);
  const rules: string[] = [];
  let skipped = 0;
  function eachEvent(take: (event: SourceEvent) => void) {
    const read = openEventReader(
      sourceNamed(source, parsed.ok ? parsed.map.columns : undefined),
      parseJsonObject,
    );
    const splitter = splitRecords(detectForm(bytes, source === "csv"), 1_000_000);
    const cuts = [splitter.push(bytes), splitter.end()];
    assert.deepEqual(cuts.map(({ fault }) => fault), [undefined, undefined]);
    for (const record of cuts.flatMap(({ records }) => records)) {
      const found = read(record);
      if (!found.ok) rules.push(found.fault.rule);
      else {
        skipped += found.skipped?.length ?? 0;
        found.events.forEach((event) => take(event));
      }
    }
  }
  eachEvent((event) => assert.equal(surveyor.add(event), undefined));
  const survey = surveyor.survey();
  const isGiven = parsed.map.streams.size > 0;
  const map = isGiven ? parsed.map : draftMap(survey, parsed.map, document !== undefined);
  const spec = draftSpec(survey, map);
  const apply = applyMap(map, source, new Set());
  const [events, leftOut]: [JsonObject[], number[]] = [[], []];
  [rules.length, skipped] = [0, 0];
  eachEvent((event) => {
    const mapped = apply(event);
    if (mapped.kind === "event") events.push(mapped.event);
    else if (mapped.kind === "left_out") leftOut.push(1);
    else rules.push(mapped.rule);
  });
  return { events, leftOut: leftOut.length, skipped, rules, lost: lostFields(survey, map), spec };
}

function bytesOf({ records, text }: Case, join: (texts: readonly string[]) => string) {
  return new TextEncoder().encode(text ?? join(records!.map((record) => JSON.stringify(record))));
}

function judge(one: Case, done: ReturnType<typeof migrate>): void {
  if (one.refused !== undefined) {
    assert.deepEqual([...new Set(done.rules)], [one.refused]);
    return;
  }
  assert.deepEqual(done.rules, []);
  assert.deepEqual(done.events, one.events);
  assert.equal(done.leftOut, one.left_out ?? 0);
  assert.equal(done.skipped, one.skipped ?? 0);
  assert.deepEqual(Object.fromEntries(done.lost), one.lost ?? {});
}

for (const [source, file] of Object.entries(FILES) as [SourceName, string][]) {
  for (const one of readGolden<Case>(`migrate/${file}.json`)) {
    Deno.test(`migrate reads ${source}: ${one.name}`, () => {
      judge(one, migrate(source, one, bytesOf(one, (texts) => `${texts.join("\n")}\n`)));
    });
    if (one.text !== undefined || one.refused !== undefined) continue;
    Deno.test(`migrate reads ${source} as one list that spans lines: ${one.name}`, () => {
      const list = (texts: readonly string[]) =>
        `[${texts.map((text) => JSON.stringify(JSON.parse(text), null, 2)).join(",\n")}]`;
      judge(one, migrate(source, one, bytesOf(one, list)));
    });
    Deno.test(`the draft of a spec takes what migrate reads of ${source}: ${one.name}`, () => {
      const { events, spec } = migrate(source, one, bytesOf(one, (texts) => texts.join("\n")));
      const compiled = compileSpec(spec);
      assert.ok(compiled.ok, JSON.stringify(compiled));
      for (const event of events) {
        const checked = checkImportedEvent(event, compiled.spec);
        assert.ok(checked.ok, JSON.stringify(checked));
        assert.deepEqual(JSON.parse(checked.value.event.raw), event);
      }
    });
  }
}

Deno.test("columnsOf() looks at all rows: a column is JSON only if each cell of it is", () => {
  const cells: readonly JsonObject[] = [
    { order_id: "1", event: "created", created_at: "2024-03-01", zip: "10115", gift: "true" },
    { order_id: "1", event: "added", created_at: "2024-03-01", price: "7.50", zip: "01067" },
    {
      order_id: "2",
      event: "created",
      created_at: "2024-03-01",
      lines: '[{"n":9007199254740993}]',
    },
  ];
  const records = cells.map((row, at) => ({ line: at + 2, row }));
  assert.deepEqual(columnsOf(records, parseJsonObject), {
    type: "event",
    time: "created_at",
    kind: "=order",
    id: "order_id",
    json: ["gift", "price"],
  });
  assert.deepEqual(columnsOf([{ line: 1, text: "no JSON" }], parseJsonObject), {});
});
