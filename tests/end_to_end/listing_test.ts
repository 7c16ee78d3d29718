/** `GET /{aggregate_type}`: ids and resolved aggregates, paged. */

import assert from "node:assert/strict";
import { type Case, refusal, type Step, testCases } from "./cases.ts";
import { START, withWorld, type World } from "./world.ts";
import { METADATA, noteBody, uuid } from "./world_spec.ts";

/** All four kinds of ids, in byte order. */
const IDS = [
  "011000001",
  uuid(1),
  `${uuid(1)}:a`,
  `${uuid(1)}:b`,
  uuid(2),
  "ABCDEFGHJ",
  "global",
  "main",
];

function wrote(id: string): Step {
  return { call: `POST /note/${id}/was_written`, body: noteBody(id) };
}

const written = IDS.toReversed().map(wrote);

testCases("a listing", [
  {
    name: "of a type without aggregates is empty",
    call: "GET /note",
    status: 200,
    answer: { ok: true, data: [], limit: 50, truncated: false },
  },
  {
    name: "answers ids of all four kinds in byte-wise lexicographic order",
    after: written,
    call: "GET /note",
    status: 200,
    answer: { ok: true, data: IDS, limit: 50, truncated: false },
  },
  {
    name: "does not show aggregates of another type",
    after: written,
    call: "GET /order",
    status: 200,
    answer: { ok: true, data: [], limit: 50, truncated: false },
  },
  {
    name: "does not show singletons without events",
    after: [wrote("main")],
    call: "GET /note",
    status: 200,
    answer: { ok: true, data: ["main"], limit: 50, truncated: false },
  },
  {
    name: "that is truncated has next_start, and cursor with the same value",
    after: written,
    call: "GET /note?limit=2",
    status: 200,
    answer: {
      ok: true,
      data: IDS.slice(0, 2),
      limit: 2,
      truncated: true,
      next_start: IDS[1],
      cursor: IDS[1],
    },
  },
  {
    name: "that ends on the last id is not truncated",
    after: written,
    call: "GET /note?limit=8",
    status: 200,
    answer: { ok: true, data: IDS, limit: 8, truncated: false },
  },
  {
    name: "begins after start, exclusive",
    after: written,
    call: "GET /note?start=ABCDEFGHJ",
    status: 200,
    answer: { ok: true, data: ["global", "main"], limit: 50, truncated: false },
  },
  {
    name: "begins after a start that no aggregate has",
    after: written,
    call: "GET /note?start=h",
    status: 200,
    answer: { ok: true, data: ["main"], limit: 50, truncated: false },
  },
  ...[
    ["0", [IDS[0]]],
    [uuid(1), IDS.slice(1, 4)],
    [`${uuid(1)}:`, IDS.slice(2, 4)],
    ["ABC", ["ABCDEFGHJ"]],
    ["abc", []],
    ["global", ["global"]],
    ["globals", []],
    ["", IDS],
  ].map(([prefix, ids]): Case => ({
    name: `with prefix=${prefix} has the ids that begin so`,
    after: written,
    call: `GET /note?prefix=${prefix}`,
    status: 200,
    answer: { ok: true, data: ids, limit: 50, truncated: false },
  })),
  {
    name: "with a prefix is paged like another",
    after: written,
    call: `GET /note?prefix=${uuid(1)}&limit=1&start=${uuid(1)}`,
    status: 200,
    answer: {
      ok: true,
      data: [`${uuid(1)}:a`],
      limit: 1,
      truncated: true,
      next_start: `${uuid(1)}:a`,
      cursor: `${uuid(1)}:a`,
    },
  },
  {
    name: "with a prefix begins with it, also after an earlier start, and ends with it",
    after: written,
    call: "GET /note?prefix=m&start=a&resolve",
    status: 200,
    answer:
      /^\{"ok":true,"data":\[\{"id":"main",[^[]*\["main"\][^[]*\],"limit":50,"truncated":false\}$/,
  },
  {
    name: "with a prefix and a start behind all such ids is empty",
    after: written,
    call: "GET /note?prefix=g&start=main",
    status: 200,
    answer: { ok: true, data: [], limit: 50, truncated: false },
  },
  ...["a%2Fb", "a%0A", "a".repeat(257)].map((prefix): Case => ({
    name: `with prefix=${prefix.slice(0, 9)} is 400`,
    call: `GET /note?prefix=${prefix}`,
    status: 400,
    answer: /"error_type":"bad_request","path":"prefix"/,
  })),
  {
    name: "takes cursor as the legacy alias of start",
    after: written,
    call: "GET /note?cursor=ABCDEFGHJ",
    status: 200,
    answer: { ok: true, data: ["global", "main"], limit: 50, truncated: false },
  },
  {
    name: "with limit above 200 is clamped and reported with limit_clamped: true",
    call: "GET /note?limit=201",
    status: 200,
    answer: { ok: true, data: [], limit: 200, truncated: false, limit_clamped: true },
  },
  {
    name: "with limit 200 is not clamped",
    call: "GET /note?limit=200",
    status: 200,
    answer: { ok: true, data: [], limit: 200, truncated: false },
  },
  ...["0", "-1", "ten", "1.5", ""].map((limit): Case => ({
    name: `with limit=${limit} is 400`,
    call: `GET /note?limit=${limit}`,
    status: 400,
    answer: refusal("bad_request", "Query parameter 'limit' must be a positive integer", {
      path: "limit",
    }),
  })),
  {
    name: "of an unknown type is 404",
    call: "GET /parcel",
    status: 404,
    answer: refusal("not_found", "Aggregate type 'parcel' not found in spec"),
  },
  ...[
    "?resolve",
    "?resolve=true",
    "?resolve=1",
    "?resolve&synchronous",
    "?resolve&synchronous=true",
  ]
    .map((query): Case => ({
      name: `${query} answers {id, data, metadata} of each`,
      after: [wrote("global"), wrote("main"), wrote("main")],
      call: `GET /note${query}`,
      status: 200,
      answer: {
        ok: true,
        data: [
          {
            id: "global",
            data: { texts: ["global"] },
            metadata: { length: 1, created_at: START, updated_at: START },
          },
          {
            id: "main",
            data: { texts: ["main", "main"] },
            metadata: { length: 2, created_at: START, updated_at: START },
          },
        ],
        limit: 50,
        truncated: false,
      },
    })),
  ...["?resolve=false", "?resolve=0", "?synchronous"].map((query): Case => ({
    name: `${query} answers ids`,
    after: [wrote("global")],
    call: `GET /note${query}`,
    status: 200,
    answer: { ok: true, data: ["global"], limit: 50, truncated: false },
  })),
  ...["resolve", "synchronous"].map((flag): Case => ({
    name: `?${flag}=maybe is 400`,
    call: `GET /note?${flag}=maybe`,
    status: 400,
    answer: new RegExp(`"path":"${flag}"`),
  })),
]);

async function writeMany({ send }: World, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => uuid(index));
  for (let at = 0; at < count; at += 10) {
    const targets = ids.slice(at, at + 10).map((id) => ({
      aggregate_type: "note",
      id,
      events: [{ type: "was_written", data: { text: id } }],
    }));
    const body = { targets, metadata: METADATA };
    assert.equal((await send("POST", "/_atomic-write", { body })).status, 201);
  }
  return ids;
}

Deno.test("a listing has 50 ids by default and at most 200", () =>
  withWorld(async (world) => {
    const ids = await writeMany(world, 201);
    const byDefault = (await world.send("GET", "/note")).body;
    assert.deepEqual(byDefault.data, ids.slice(0, 50));
    assert.deepEqual([byDefault.limit, byDefault.truncated], [50, true]);
    const most = (await world.send("GET", "/note?limit=500")).body;
    assert.deepEqual(most.data, ids.slice(0, 200));
    assert.deepEqual([most.limit, most.limit_clamped, most.truncated], [200, true, true]);
  }));

for (const query of ["", "&resolve"]) {
  Deno.test(`following next_start meets each id once, with every limit (${query})`, () =>
    withWorld(async (world) => {
      const ids = (await writeMany(world, 7)).toSorted();
      for (let limit = 1; limit <= 8; limit++) {
        const seen: string[] = [];
        let start = "";
        for (let turn = 0; turn < 10; turn++) {
          const { body } = await world.send("GET", `/note?limit=${limit}${query}${start}`);
          for (const entry of body.data) seen.push(entry.id ?? entry);
          assert.equal(body.next_start !== undefined, body.truncated);
          assert.equal(body.cursor, body.next_start);
          if (body.next_start === undefined) break;
          start = `&start=${body.next_start}`;
        }
        assert.deepEqual(seen, ids, `limit ${limit}`);
      }
    }));
}

Deno.test("resolved entries are exactly as current as a single GET", () =>
  withWorld(async ({ send }) => {
    for (let turn = 0; turn < 4; turn++) {
      await send("POST", "/note/main/was_written", { body: noteBody("a") });
      const single = (await send("GET", "/note/main")).body;
      const [entry] = (await send("GET", "/note?resolve")).body.data;
      assert.deepEqual(entry, { id: "main", data: single.data, metadata: single.metadata });
    }
  }));
