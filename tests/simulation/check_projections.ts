/**
 * Checks that every final row equals the one computed from scratch from events and definition.
 */

import { readReadyProjection } from "../../src/store/projections/projections.ts";
import { type OracleStream, projectionFromScratch } from "../support/projection_oracle.ts";
import type { Census } from "./census.ts";
import { canonical } from "./compare.ts";
import type { Evidence } from "./evidence.ts";
import { stateAfter } from "./expected_states.ts";
import { openCalm, TENANT } from "./founding.ts";
import { currentSpec } from "./spec_times.ts";
import { DEFINITIONS, readProjections } from "./projections.ts";
import { readParsedRows } from "../support/parsed_rows.ts";

const ROWS_MAX = 1_000;

export async function checkProjections(
  { world, streams }: Evidence,
  census: Census,
): Promise<string[]> {
  const { store, weather } = world;
  if (!weather.hasProjections) return [];
  const records = readProjections(store);
  const [record] = records;
  const projection = await openCalm(store).snapshot((tx) =>
    readReadyProjection(tx, TENANT.number, "orders")
  );
  if (record?.ready === undefined || projection === undefined || records.length !== 1) {
    return [`there is no view to read: ${JSON.stringify(records)}`];
  }
  const { document } = record.ready;
  const name = canonical(document);
  if (!DEFINITIONS.some((each) => canonical(each) === name)) return [`nobody deployed ${name}`];
  const rows = await openCalm(store).snapshot((tx) =>
    readParsedRows(tx, projection, { limit: ROWS_MAX, bytesMax: 1e9 })
  );
  const spec = currentSpec(world, store.version + 1);
  const known = new Map([...streams].map(([key, placed]): [string, OracleStream] => [key, {
    events: placed.map(({ event }) => event),
    updatedAt: placed.at(-1)!.event.metadata.timestamp,
  }]));
  const wanted = projectionFromScratch(
    document,
    known,
    (_, events) => events.length === 0 ? null : stateAfter(events, spec),
  );
  census.count("rows", rows.length);
  census.count("versions of views that were built", record.versions);
  const shown = rows.map(({ key, data, position, updatedAt }) =>
    canonical({ key, data, position, updatedAt })
  );
  const right = wanted.map((row) => canonical({ ...row }));
  return [
    ...shown.filter((row) => !right.includes(row)).map((row) => `a row is wrong: ${row}`),
    ...right.filter((row) => !shown.includes(row)).map((row) => `a row is missing: ${row}`),
  ];
}
