/** Checks that replies were true: nothing acknowledged is lost, nothing is there twice. */

import { canonical } from "./compare.ts";
import type { Census } from "./census.ts";
import { type Evidence, type Placed, streamIdOf } from "./evidence.ts";
import { countActions } from "./expected_events.ts";
import type { JournalWrite } from "./journal.ts";
import { possibleSpecs } from "./spec_times.ts";

export function checkWrites({ world, events, streams }: Evidence, census: Census): string[] {
  const faults: string[] = [];
  const clients = events.filter(({ event: { metadata } }) =>
    metadata.actor.type === "user" && metadata.implied_by === undefined
  );
  const byNumber = new Map<unknown, Placed[]>();
  for (const placed of clients) {
    const { n } = placed.event.data;
    byNumber.set(n, [...byNumber.get(n) ?? [], placed]);
  }
  for (const write of world.journal.writes) {
    const found = write.events.map(({ data }) => byNumber.get(data.n) ?? []);
    for (const { data } of write.events) byNumber.delete(data.n);
    const name = `write ${write.events[0]!.data.n}`;
    if (write.heard === "unknown" && found[0]!.length > 0) {
      census.count("writes of which nothing was heard that landed");
    }
    for (const fault of faultsOf(write, found)) faults.push(`${name}: ${fault}`);
    if (write.heard !== "acknowledged") continue;
    for (const { key, first } of write.places) {
      const own = write.events.filter((event) => event.key === key);
      for (const [offset, { type, data }] of own.entries()) {
        const event = streams.get(key)?.[first + offset]?.event;
        const isThere = event?.type === type && canonical(event.data) === canonical(data);
        if (!isThere) faults.push(`${name}: not at ${key} ${streamIdOf(first + offset)}`);
      }
    }
    const counts = possibleSpecs(world, found[0]![0]?.version ?? 0).map((spec) =>
      found.flat().reduce((sum, { event }) => sum + countActions(event, spec), 0)
    );
    if (write.impliedCount !== undefined && !counts.includes(write.impliedCount)) {
      faults.push(`${name}: implied_count is ${write.impliedCount}, not ${counts.join(" or ")}`);
    }
  }
  for (const number of byNumber.keys()) faults.push(`event ${number} was never sent`);
  return faults;
}

function* faultsOf({ heard }: JournalWrite, found: readonly Placed[][]) {
  const counts = found.map(({ length }) => length);
  if (counts.some((count) => count > 1)) yield `its events are there ${counts} times`;
  if (counts.some((count) => count !== counts[0])) yield `only a part of it is there: ${counts}`;
  if (heard === "acknowledged" && counts.includes(0)) yield "it was acknowledged and is lost";
  if (heard === "refused" && counts[0] !== 0) yield "it was refused and is there";
  if (new Set(found.flat().map(({ version }) => version)).size > 1) yield "it is several commits";
}
