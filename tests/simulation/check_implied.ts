/**
 * Checks implied events: each event implied what `expected_events.ts` says, exactly once. Where
 * it did not, an error record says why, and there is no error record without a reason.
 */

import type { ErrorRecord } from "../../src/domain/error_record.ts";
import type { Census } from "./census.ts";
import { canonical, groupBy, takeOne } from "./compare.ts";
import { type Evidence, nameOf, type Placed, placeName } from "./evidence.ts";
import {
  countFailures,
  countTooDeep,
  depthOf,
  type Expected,
  expectedEvents,
  fitsNever,
} from "./expected_events.ts";
import { possibleSpecs } from "./spec_times.ts";
import type { SpecNumber } from "./world_spec.ts";

/** What there is of one event. */
interface Found {
  readonly actual: readonly Placed[];
  /** Error records of implied events that were given up. */
  readonly dropped: readonly ErrorRecord[];
  readonly parked: readonly Expected[];
}

export function checkImplied(evidence: Evidence, census: Census): string[] {
  const { events, errors } = evidence;
  const faults: string[] = [];
  const implied = groupBy(events, ({ event: { metadata } }) => {
    const { implied_by: by, saga } = metadata;
    return by === undefined || saga !== undefined ? undefined : placeName(by.key, by.stream_id);
  });
  const dropped = groupBy(errors.map(({ record }) => record), placeOfDropped);
  const parked = groupBy(evidence.parked, ({ place }) => place);
  const spelled = openRecords(evidence);
  for (const placed of events) {
    const name = nameOf(placed);
    const found: Found = {
      actual: implied.get(name) ?? [],
      dropped: dropped.get(name) ?? [],
      parked: (parked.get(name) ?? []).flatMap(({ waiting: { entry } }) =>
        entry.kind === "emit" ? [emissionOf(entry)] : []
      ),
    };
    for (const table of [implied, dropped, parked]) table.delete(name);
    faults.push(...faultsOf(evidence, placed, found), ...spelled.take(placed));
    countEvent(census, placed, found);
  }
  for (const [name, table] of Object.entries({ implied, dropped, parked })) {
    for (const place of table.keys()) faults.push(`${name} by ${place}, which is not there`);
  }
  if (isCalm(evidence)) faults.push(...checkOrder(evidence));
  return [...faults, ...spelled.left()];
}

function emissionOf(
  { emission: { key, eventType, data } }: {
    readonly emission: { key: string; eventType: string; data: Expected["data"] };
  },
): Expected {
  return { key, type: eventType, data };
}

function placeOfDropped({ context }: ErrorRecord): string | undefined {
  const { implied_key, event_key, stream_id } = context;
  return implied_key === undefined ? undefined : placeName(String(event_key), String(stream_id));
}

function faultsOf(evidence: Evidence, placed: Placed, found: Found): string[] {
  const { world } = evidence;
  const specs = possibleSpecs(world, placed.version);
  const isTakenOut = takenOutBy(evidence);
  const attempts = specs.map((spec) => differences(placed, found, spec, isTakenOut));
  const best = attempts.sort((a, b) => a.length - b.length)[0] ?? ["no spec was there yet"];
  return [...best, ...checkStamps(world, placed, found)].map((fault) =>
    `${nameOf(placed)} ${placed.event.type}: ${fault}`
  );
}

/**
 * Events that may be dropped because a later spec no longer implies them: those that only the
 * second spec implies. The later spec may be the first one again. One record for each root and
 * deploy stands for all drops of that root.
 */
function takenOutBy({ errors, world }: Evidence): (expected: Expected) => boolean {
  const isDropped = errors.some(({ record: { error_type } }) =>
    error_type === "implication_dropped"
  );
  // The first deploy comes before all events.
  const isTakenOut = world.journal.deploys.slice(1).some(({ spec }) => spec !== 2);
  return ({ type }) => isDropped && isTakenOut && type === "was_audited";
}

function differences(
  { event }: Placed,
  found: Found,
  spec: SpecNumber,
  isTakenOut: (expected: Expected) => boolean,
): string[] {
  const faults: string[] = [];
  const expected = [...expectedEvents(event, spec)];
  for (const { event: { key, type, data } } of found.actual) {
    const text = canonical(data);
    const isTaken = takeOne(
      expected,
      (each) => each.key === key && each.type === type && canonical(each.data) === text,
    );
    if (!isTaken) faults.push(`${key} ${type} ${text} follows once too often`);
    else if (fitsNever({ key, type, data })) faults.push(`${type} ${text} fits no spec`);
  }
  for (const { key, type } of found.parked) {
    if (!takeOne(expected, (each) => each.key === key && each.type === type)) {
      faults.push(`${key} ${type} is parked and written`);
    }
  }
  for (const { context, message, error_type } of found.dropped) {
    const isParked = found.parked.some(({ key, type }) => isOf(context, key, type));
    if (isParked) continue;
    const mayBe = error_type === "implication_dropped" ? isTakenOut : fitsNever;
    const isTaken = takeOne(
      expected,
      (each) => isOf(context, each.key, each.type) && mayBe(each),
    );
    if (!isTaken) faults.push(`given up without a reason: ${message} ${JSON.stringify(context)}`);
  }
  for (const each of expected) {
    if (!isTakenOut(each)) faults.push(`${each.key} ${each.type} is missing`);
  }
  if (found.parked.length > found.dropped.length) faults.push("parked without an error record");
  return faults;
}

function isOf(context: ErrorRecord["context"], key: string, type: string): boolean {
  return context.implied_key === key && context.implied_event_type === type;
}

function checkStamps(world: Evidence["world"], placed: Placed, { actual }: Found): string[] {
  const { event: { type, metadata } } = placed;
  return actual.flatMap(({ event, version }) => {
    const by = event.metadata.implied_by!;
    const faults: string[] = [];
    if (by.event_type !== type) faults.push(`implied by ${by.event_type}`);
    if (by.depth !== depthOf(placed.event) + 1) faults.push(`implied at depth ${by.depth}`);
    if (canonical({ ...event.metadata.actor }) !== canonical({ ...metadata.actor })) {
      faults.push("implied by another actor");
    }
    const isDirect = world.weather.isDirect && version === placed.version;
    if (version <= placed.version && !isDirect) faults.push("implied before it was there");
    return faults;
  });
}

/** Error records that commit with an event itself are found by its type and version. */
function openRecords({ errors, world: { journal } }: Evidence) {
  const left = errors.filter(({ record: { context, error_type, request_id } }) => {
    const { operation, implied_key } = context;
    // A request for which the store was away.
    if (error_type === "unavailable" && journal.requests.has(request_id)) return false;
    return operation !== "advance_saga" && implied_key === undefined;
  });

  function take({ event, version }: Placed): string[] {
    const isOwn = ({ record, version: at }: typeof left[number]) =>
      at === version && record.context.event_key === event.key &&
      record.context.event_type === event.type;
    const expected = [
      ...Array<string>(countFailures(event)).fill("implication_failed"),
      ...countTooDeep(event, 1) > 0 ? ["implication_depth_exceeded"] : [],
    ];
    return expected.flatMap((type) => {
      const isTaken = takeOne(left, (each) => isOwn(each) && each.record.error_type === type);
      return isTaken ? [] : [`${event.key} ${event.type}: there is no record of ${type}`];
    });
  }

  return {
    take,
    left: () => left.map(({ record }) => `an error without a reason: ${JSON.stringify(record)}`),
  };
}

function isCalm({ world: { weather } }: Evidence): boolean {
  return weather.faultShare + weather.outages + weather.clockJumps === 0 &&
    weather.machines === 1 && weather.deathsInCalls + weather.deathsInTime === 0;
}

/** If nothing fails, the events that one event implies in a stream are in order. */
function checkOrder({ events, world }: Evidence): string[] {
  return events.flatMap((placed) => {
    const name = nameOf(placed);
    const own = events.filter(({ event: { metadata: { implied_by: by, saga } } }) =>
      saga === undefined && by !== undefined && placeName(by.key, by.stream_id) === name
    );
    const orders = possibleSpecs(world, placed.version).map((spec) =>
      expectedEvents(placed.event, spec)
    );
    const isInOrder = orders.some((order) => {
      const place = ({ event: { key, type, data } }: Placed) =>
        order.findIndex((each) =>
          each.key === key && each.type === type && canonical(each.data) === canonical(data)
        );
      return own.every((one, at) =>
        own.slice(at + 1).every((two) =>
          one.event.key !== two.event.key || (one.index < two.index) === (place(one) <= place(two))
        )
      );
    });
    return isInOrder ? [] : [`${name}: what it implied is out of order`];
  });
}

function countEvent(census: Census, placed: Placed, { actual, dropped, parked }: Found): void {
  census.count("implied events", actual.length);
  if (depthOf(placed.event) > 0) {
    census.count("implied events of depth 2 or more", actual.length);
  }
  const others = actual.filter(({ commit }) => commit.process !== placed.commit.process);
  census.count("implied events written by another process than their trigger", others.length);
  const direct = actual.filter(({ version }) => version === placed.version);
  census.count("implied events written with their trigger", direct.length);
  census.count("implied events given up", dropped.length - parked.length);
  census.count("entries parked", parked.length);
  census.count("implications that came to nothing", countFailures(placed.event));
  if (countTooDeep(placed.event, 1) > 0) census.count("implications too deep");
}
