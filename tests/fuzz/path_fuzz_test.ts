/**
 * Paths, queries and cursors that nobody should send. Every one gets a documented answer, none
 * gets a 5xx, and none changes anything.
 */

import assert from "node:assert/strict";
import { PATHS } from "../../src/http/paths.ts";
import { createRandom, type Random } from "../crash/random.ts";
import { withWorld, type World } from "../end_to_end/world.ts";
import { noteBody, uuid } from "../end_to_end/world_spec.ts";
import { fuzzRun } from "./seeds.ts";

const SEGMENTS = [
  "note",
  "order",
  "tally",
  "global",
  "main",
  uuid(1),
  uuid(1).toUpperCase(),
  `${uuid(1)}:tag`,
  "7ZK0X9M4P",
  "7zkOxIm4p",
  "length",
  "events",
  "_errors",
  "_sagas",
  "latest",
  "err_1",
  "0",
  "-1",
  "1e9",
  "",
  ".",
  "..",
  "%2e%2e",
  "%2F",
  "%00",
  "%",
  "%zz",
  "%ff",
  "%F0%9F%98%80",
  "__proto__",
  "constructor",
  "a".repeat(5_000),
  "\\",
  ";x=1",
  "note%3Aglobal",
];
const OTHERS = new Set(["metrics", "health", "openapi.json", "_console", "_docs"]);
const NAMES = ["start", "cursor", "count", "limit", "direction", "raw", "synchronous", "resolve"];
const MORE_NAMES = ["at", "state", "name", "anchor", "environment", "instance_id", "x", ""];
const VALUES = [
  "",
  "0",
  "1",
  "5",
  "5001",
  "-1",
  "1.5",
  "1e3",
  "0x10",
  "99999999999999999999",
  "true",
  "false",
  "yes",
  "forwards",
  "BACKWARDS",
  "backwards",
  "running",
  "dead",
  "000000000000",
  "000000000001",
  "999999999999",
  "global",
  uuid(1),
  "%00",
  "%ff",
  "%",
  "+",
  "a".repeat(3_000),
  "é",
  "' OR 1=1 --",
];

Deno.test("no path, query or cursor is answered with a 5xx, or changes anything", () =>
  withWorld(async (world) => {
    const { seed, cases } = fuzzRun(4_000);
    const random = createRandom(seed);
    await furnish(world);
    const before = await world.send("GET", "/note?resolve");
    const cursors: string[] = [];
    const statuses = new Map<number, number>();
    for (let number = 0; number < cases; number++) {
      const path = randomPath(random, cursors);
      const token = path.startsWith("/api") || path.startsWith("/_admin")
        ? world.operator
        : undefined;
      try {
        const { status, body } = await world.send("GET", path, { token });
        assert.ok(status < 500, `${status}`);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (typeof body?.next_start === "string") cursors.push(encodeURIComponent(body.next_start));
      } catch (error) {
        throw new Error(`seed ${seed}, case ${number}: ${path}`, { cause: error });
      }
    }
    assert.equal((await world.send("GET", "/note?resolve")).text, before.text);
    for (const status of [200, 400, 404, 422]) {
      assert.ok((statuses.get(status) ?? 0) > cases / 200, `hardly any ${status}`);
    }
  }));

async function furnish({ send }: World): Promise<void> {
  for (const id of ["global", "main", uuid(1), uuid(2)]) {
    for (let number = 0; number < 3; number++) {
      const { status } = await send("POST", `/note/${id}/was_written`, { body: noteBody("x") });
      assert.equal(status, 201);
    }
  }
}

/** More than half have the shape of an existing route. */
function randomPath(random: Random, cursors: readonly string[]): string {
  const pattern = random.chance(0.6) ? random.pick(PATHS).pattern : undefined;
  const shape = pattern?.slice(1).split("/") ??
    Array.from({ length: 1 + random.below(5) }, () => "{any}");
  // Routes that do not answer in JSON have their own tests.
  if (OTHERS.has(shape[0]!)) shape[0] = "note";
  const segments = shape.map((part) =>
    part.startsWith("{") || random.chance(0.05) ? random.pick(SEGMENTS) : part
  );
  const query = Array.from({ length: random.below(4) }, () => {
    const name = random.pick(random.chance(0.7) ? NAMES : MORE_NAMES);
    const isCursor = cursors.length > 0 && random.chance(0.2);
    return `${name}=${isCursor ? changed(random, random.pick(cursors)) : random.pick(VALUES)}`;
  });
  return `/${segments.join("/")}${query.length > 0 ? `?${query.join("&")}` : ""}`;
}

/** A cursor as it was given, or with one character changed. */
function changed(random: Random, cursor: string): string {
  if (cursor === "" || random.chance(0.3)) return cursor;
  const at = random.below(cursor.length);
  return cursor.slice(0, at) + random.pick([..."0aZ_-.%"]) + cursor.slice(at + 1);
}
