/** Bodies that are slow to read, and answers that are slow to make or that nobody reads. */

import type { AttackGroup, HostileRequest, Json } from "../attack.ts";
import {
  ACTOR,
  eventType,
  fields,
  idOf,
  importEvents,
  read,
  repeat,
  specOf,
  times,
  write,
  writeMany,
} from "../documents.ts";
import { limits } from "../../../src/domain/limits.ts";
import { collidingLiterals, objectOf } from "../../../tests/support/colliding_names.ts";

const MiB = 2 ** 20;
const ID = idOf(1);
const METADATA = JSON.stringify({ actor: ACTOR });

function plainSpec(): Json {
  return specOf({ thing: { was_seen: eventType() } });
}

function appendingSpec(): Json {
  return specOf({
    thing: { was_seen: eventType({ append: { target: "list", value: "$.data" } }) },
  });
}

function raw(body: string, more: Partial<HostileRequest> = {}): HostileRequest {
  return { path: `/thing/${ID}/was_seen`, body, ...more };
}

function data(text: string): HostileRequest {
  return raw(`{"data":{"v":${text}},"metadata":${METADATA}}`);
}

let loneSurrogates: HostileRequest | undefined;
let manyKeys: HostileRequest | undefined;
let condition: HostileRequest | undefined;
let longList: HostileRequest | undefined;

/** Eight texts, none of which is longer than a text may be. */
function surrogates(): string {
  return `[${repeat(8, () => `"${"\\ud800".repeat(174_000)}"`)}]`;
}

function objects(): string {
  const members = repeat(20_000, (i) => `"k${i}":1`).join();
  return `[${repeat(30, () => `{${members}}`)}]`;
}

function requiring(text: string): HostileRequest {
  const conditions = `[{"key":"thing:${ID}","require":${text}}]`;
  return raw(`{"data":{},"metadata":${METADATA},"preconditions":${conditions}}`);
}

/** 320 events of 95 KB each in one stream, in batches of 40. */
function* longStream(): Iterable<HostileRequest> {
  for (let i = 0; i < 320; i += 40) {
    yield writeMany(
      "thing",
      ID,
      repeat(40, (k) => ({ type: "was_seen", data: { t: `${i + k}${"a".repeat(95_000)}` } })),
    );
  }
}

interface Body {
  readonly name: string;
  readonly does: string;
  readonly body: () => HostileRequest;
  readonly clients?: number;
}

const BODIES: readonly Body[] = [
  {
    name: "body of empty objects",
    does: "8 MiB of {} in a batch",
    body: () => ({ path: `/thing/${ID}`, body: `{"events":[${"{},".repeat(2_790_000)}{}]}` }),
  },
  {
    name: "body of brackets",
    does: "8 MiB of opening brackets",
    body: () => raw("[".repeat(8 * MiB)),
  },
  {
    name: "body of digits",
    does: "a number of 8 million digits",
    body: () => data("1".repeat(8_000_000)),
  },
  {
    name: "body of fractions",
    does: "700,000 numbers of many digits behind the point",
    body: () => data(`[${repeat(8, () => `[${"0.1234567,".repeat(99_000)}1]`)}]`),
  },
  {
    name: "body of escapes",
    does: "1.3 million escaped characters in one text",
    body: () => data(`"${"\\u0041".repeat(1_300_000)}"`),
  },
  {
    name: "body of keys",
    does: "600,000 different keys in one object",
    body: () => data(`{${repeat(600_000, (i) => `"k${i}":0`).join(",")}}`),
  },
  {
    name: "body of equal keys",
    does: "a key of 4 MB twice",
    body: () => data(`{"${"a".repeat(4_000_000)}":0,"${"a".repeat(4_000_000)}":1}`),
  },
  {
    name: "body of index keys",
    does: "500,000 keys that are numbers, from high to low",
    body: () => data(`{${repeat(500_000, (i) => `"${4_000_000 - i * 7}":0`).join(",")}}`),
  },
  {
    name: "body of lone surrogates",
    does: "halves of characters, a million of them",
    body: () => data(`"${"\\ud800".repeat(1_200_000)}"`),
  },
  {
    name: "body of white space",
    does: "8 MiB of line ends around nothing",
    body: () => raw(`${"\n".repeat(8 * MiB - 10)}{}`),
  },
  {
    name: "body that is no UTF-8",
    does: "8 MiB of bytes that no text has",
    body: () => raw("", { body: new Uint8Array(8 * MiB - 1).fill(0xff) }),
  },
  {
    name: "body of unknown fields",
    does: "500,000 fields beside data and metadata",
    body: () =>
      raw(`{${repeat(500_000, (i) => `"k${i}":0`).join(",")},"data":{},"metadata":${METADATA}}`),
  },
  {
    name: "white space within a list",
    does: "8 MiB of line ends before a number of 16 digits",
    body: () => data(`[1,${"\n".repeat(8 * MiB - 200)}1234567890123456]`),
  },
  {
    name: "batch of 10000 events",
    does: "10,000 events of 780 bytes as they are stored, in one request",
    body: () =>
      writeMany("thing", ID, times(limits.batchEventsMax, "was_seen", { t: "a".repeat(600) })),
  },
  {
    name: "batch of 80 large events",
    does: "80 events of 95 KB in one request",
    body: () => writeMany("thing", ID, times(80, "was_seen", { t: "a".repeat(95_000) })),
  },
  {
    name: "atomic write of 10000 events",
    does: "ten aggregates, a thousand events each",
    body: () => ({
      path: "/_atomic-write",
      body: JSON.stringify({
        targets: repeat(
          10,
          (i) => ({
            aggregate_type: "thing",
            id: idOf(i),
            events: times(1_000, "was_seen", { t: "a".repeat(600) }),
          }),
        ),
        metadata: { actor: ACTOR },
      }),
    }),
  },
  {
    name: "atomic write of half a million events",
    does: "a target with more events than all targets may have, in 8 MiB",
    body: () => ({
      path: "/_atomic-write",
      body: `{"targets":[{"aggregate_type":"thing","id":"${ID}","events":[` +
        `${'{"type":""},'.repeat(600_000)}{"type":""}]}],"metadata":${METADATA}}`,
    }),
  },
  {
    name: "idempotent batch of many keys",
    does: "a body of 8 MB whose 80,000 keys are sorted to be recognized",
    body: () => ({
      ...writeMany(
        "thing",
        ID,
        repeat(80, (k) => ({ type: "was_seen", data: fields(7_000, (i) => (i * 7919 + k) % 10) })),
      ),
      headers: { "X-Idempotency-Key": "the same each time" },
    }),
  },
];

export const BODIES_AND_ANSWERS: AttackGroup = {
  title: "bodies and answers",
  attacks: [
    ...BODIES.map(({ name, does, body, clients = 3 }) => {
      let made: HostileRequest | undefined;
      const needs = "write key";
      return {
        name,
        does,
        needs,
        spec: plainSpec,
        waves: [{ request: () => made ??= body(), clients }],
      };
    }),
    {
      name: "keys with one hash",
      does:
        "16,000 keys in 380 KB, which the runtime looks up one behind the other, others each time",
      needs: "write key",
      spec: plainSpec,
      waves: [{
        request: (turn) => data(objectOf(collidingLiterals(16_000, 16_000 * turn))),
        clients: 3,
      }],
    },
    {
      name: "texts with one hash",
      does: "20,000 texts of digits, multiples of 65,536, in a list",
      needs: "write key",
      spec: plainSpec,
      waves: [{
        request: (turn) =>
          data(`[${repeat(20_000, (i) => `"${65_536 * (i + 20_000 * (turn % 3))}"`)}]`),
        clients: 3,
      }],
    },
    {
      name: "few keys with one hash without a pause",
      does: "64 connections, each body with 100 such keys, others each time",
      needs: "write key",
      spec: plainSpec,
      waves: [{
        request: (turn) => data(objectOf(collidingLiterals(100, 100 * turn))),
        clients: 64,
      }],
    },
    {
      name: "data of lone surrogates in many texts",
      does: "data of 8 MB that would take long to become a text, of which 100 KB are allowed",
      needs: "write key",
      spec: plainSpec,
      waves: [{ request: () => loneSurrogates ??= data(surrogates()), clients: 3 }],
    },
    {
      name: "data of objects of 20000 keys",
      does: "30 objects in one event, as large as objects may be",
      needs: "write key",
      spec: plainSpec,
      waves: [{ request: () => manyKeys ??= data(objects()), clients: 3 }],
    },
    {
      name: "conditions of lone surrogates",
      does: "a precondition of 8 MB, of which 4,096 characters are allowed",
      needs: "write key",
      spec: plainSpec,
      waves: [{ request: () => condition ??= requiring(surrogates()), clients: 3 }],
    },
    {
      name: "lists of a million numbers",
      does: "1,490,000 numbers in one list, 3 MB",
      needs: "write key",
      spec: plainSpec,
      waves: [{ request: () => longList ??= data(`[${"1,".repeat(1_489_990)}1]`), clients: 3 }],
    },
    {
      name: "new keys of idempotency without a pause",
      does: "64 connections write, each time with another key of 255 characters",
      needs: "write key",
      spec: plainSpec,
      waves: [{
        request: (turn) => ({
          ...write("thing", ID, "was_seen", {}),
          headers: { "X-Idempotency-Key": String(turn).padStart(255, "k") },
        }),
        clients: 64,
      }],
    },
    {
      name: "heavy writes of a thousand connections",
      does: "700 events in a body of 14 KB, which take longer than a slice, from 1,000 connections",
      needs: "write key",
      spec: plainSpec,
      waves: [{
        request: writeMany("thing", ID, repeat(700, () => ({ type: "was_seen" }))),
        clients: 1_000,
      }],
    },
    {
      name: "pages of events without a pause",
      does: "16 readers of pages of 4 MiB",
      needs: "read key",
      spec: plainSpec,
      prepare: longStream,
      waves: [{ request: read(`/thing/${ID}/events?count=5000`), clients: 16 }],
    },
    {
      name: "pages of events that nobody reads",
      does: "100 connections ask for 4 MiB, ten times each, and read nothing",
      needs: "read key",
      spec: plainSpec,
      prepare: longStream,
      waves: [{
        request: read(`/thing/${ID}/events?count=5000`),
        manner: "never_read",
        clients: 100,
        pipelined: 10,
      }],
    },
    {
      name: "pages of small events",
      does: "16 readers of pages of 5,000 events, parsed one by one",
      needs: "read key",
      spec: plainSpec,
      prepare: () => [writeMany("thing", ID, times(limits.batchEventsMax, "was_seen", { a: 1 }))],
      waves: [{ request: read(`/thing/${ID}/events?count=5000`), clients: 16 }],
    },
    {
      name: "states of 30 MB that nobody reads",
      does: "32 connections ask for a state of 30 MB and read nothing",
      needs: "read key",
      spec: appendingSpec,
      prepare: longStream,
      waves: [{ request: read(`/thing/${ID}`), manner: "never_read", clients: 32 }],
    },
    {
      name: "states of 30 MB of small values",
      does: "readers of a state of 2.5 million numbers",
      needs: "read key",
      spec: appendingSpec,
      prepare: () =>
        repeat(150, (i) => write("thing", ID, "was_seen", { v: repeat(16_000, (k) => i + k) })),
      waves: [{ request: read(`/thing/${ID}`), clients: 6 }],
    },
    {
      name: "lists of many ids",
      does: "32 readers of pages of 200 ids, of 20,000",
      needs: "read key",
      spec: plainSpec,
      prepare:
        () => [importEvents(repeat(20_000, (i) => ["thing", idOf(i), "was_seen", {}] as const))],
      waves: [{
        request: (turn) => read(`/thing?limit=200&start=${idOf(turn % 19_000)}`),
        clients: 32,
      }],
    },
    {
      name: "many environments of answers",
      does: "64 readers of states of 100 KB, each of another aggregate",
      needs: "read key",
      spec: appendingSpec,
      prepare: () => [
        importEvents(
          repeat(
            500,
            (i) => ["thing", idOf(i), "was_seen", { t: "a".repeat(95_000) } as Json] as const,
          ),
        ),
      ],
      waves: [{ request: (turn) => read(`/thing/${idOf(turn % 500)}`), clients: 64 }],
    },
  ],
};
