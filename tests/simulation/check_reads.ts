/**
 * Checks reads over HTTP: each was true at some moment between its request and its answer.
 * Nothing that existed before the request is missing, nothing that came after the answer is in
 * it, and nothing is half there.
 */

import { judgeBundle } from "../../scripts/verify_bundle.ts";
import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import type { Census } from "./census.ts";
import { canonical } from "./compare.ts";
import { type Evidence, type Placed, streamIdOf } from "./evidence.ts";
import { stateAfter } from "./expected_states.ts";
import { PUBLIC_KEY } from "./founding.ts";
import type { JournalRead } from "./journal.ts";
import { possibleSpecs } from "./spec_times.ts";

type Fields = Record<string, JsonValue>;

export function checkReads(evidence: Evidence, census: Census): string[] {
  return evidence.world.journal.reads.flatMap((read) => {
    census.count("reads");
    if (read.fromVersion < read.toVersion) census.count("reads beside which others wrote");
    const fault = faultOf(evidence, read, census);
    const { path, fromVersion, toVersion, status, body } = read;
    const answer = `${status} ${JSON.stringify(body)}`;
    return fault === undefined
      ? []
      : [`GET ${path} from version ${fromVersion} to ${toVersion}: ${fault}: ${answer}`];
  });
}

function faultOf(evidence: Evidence, read: JournalRead, census: Census): string | undefined {
  const url = new URL(read.path, "http://node.example");
  const [type, id, what, , index] = url.pathname.slice(1).split("/");
  if (id === undefined) return faultOfList(evidence, read, url.searchParams);
  const placed = evidence.streams.get(`${type}:${id}`) ?? [];
  if (what === "audit") return faultOfBundle(placed, read, Number(index), census);
  if (read.status !== 200) return "it was refused";
  if (what === "length") {
    return lengthsOf(placed, read).includes(read.body.length as number) ? undefined : "another";
  }
  if (what === "events") return faultOfPage(placed, read, url.searchParams);
  return faultOfState(evidence, placed, read);
}

/** All lengths that the stream had in that time. */
function lengthsOf(placed: readonly Placed[], { fromVersion, toVersion }: JournalRead): number[] {
  const versions = placed.filter(({ version }) => version > fromVersion && version <= toVersion);
  const least = placed.filter(({ version }) => version <= fromVersion).length;
  const ends = new Set(
    versions.map(({ version }) => placed.findLastIndex((each) => each.version <= version) + 1),
  );
  return [least, ...ends];
}

function faultOfState(
  { world }: Evidence,
  placed: readonly Placed[],
  read: JournalRead,
): string | undefined {
  const isRight = lengthsOf(placed, read).some((length) => {
    const events = placed.slice(0, length).map(({ event }) => event);
    const metadata = {
      length,
      created_at: events[0]?.metadata.timestamp ?? null,
      updated_at: events.at(-1)?.metadata.timestamp ?? null,
    };
    return possibleSpecs(world, read.toVersion + 1).some((spec) =>
      canonical({ ok: true, data: stateAfter(events, spec), metadata }) === canonical(read.body)
    );
  });
  return isRight ? undefined : "it was never so";
}

function faultOfPage(
  placed: readonly Placed[],
  read: JournalRead,
  query: URLSearchParams,
): string | undefined {
  const count = Number(query.get("count"));
  const start = query.get("start");
  const first = start === null ? 0 : Number(start) + 1;
  const { data, truncated, next_start } = read.body as Fields;
  const isRight = lengthsOf(placed, read).some((length) => {
    const end = Math.max(first, Math.min(first + count, length));
    const page = placed.slice(first, end).map(({ index, hash, raw }): JsonObject => (
      { id: streamIdOf(index), hash, raw }
    ));
    const next = length > end ? streamIdOf(end - 1) : undefined;
    return canonical(data!) === canonical(page) && truncated === length > end &&
      next_start === next;
  });
  return isRight ? undefined : "there was never such a page";
}

function faultOfList(
  { streams }: Evidence,
  { fromVersion, toVersion, status, body }: JournalRead,
  query: URLSearchParams,
): string | undefined {
  if (status !== 200) return "it was refused";
  const limit = Number(query.get("limit"));
  const born = [...streams].filter(([key]) => key.startsWith("order:"))
    .map(([key, placed]) => ({ id: key.slice("order:".length), version: placed[0]!.version }))
    .sort((a, b) => a.id < b.id ? -1 : 1);
  const moments = [
    fromVersion,
    ...born.map(({ version }) => version)
      .filter((version) => version > fromVersion && version <= toVersion),
  ];
  const isRight = moments.some((moment) => {
    const ids = born.filter(({ version }) => version <= moment).map(({ id }) => id);
    return canonical(body.data!) === canonical(ids.slice(0, limit)) &&
      body.truncated === ids.length > limit;
  });
  return isRight ? undefined : "it was never so";
}

/** There is no bundle without an anchor that covers the event. */
function faultOfBundle(
  placed: readonly Placed[],
  { status, body, toVersion }: JournalRead,
  index: number,
  census: Census,
): string | undefined {
  if (status === 404 || status === 409) return undefined;
  if (status !== 200) return "it was refused";
  census.count("bundles over HTTP");
  const own = placed[index];
  if (own === undefined || own.version > toVersion) return "there is no such event";
  const text = new TextEncoder().encode(JSON.stringify(body));
  const verdict = judgeBundle(text, { key: PUBLIC_KEY, stream: own.event.key, index });
  if (verdict !== "ok") return `it does not verify: ${verdict}`;
  return (body.event as Fields).raw === own.raw ? undefined : "it has another event";
}
