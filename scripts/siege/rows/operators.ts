/** Attacks by operators: imports, modules, listeners, erasures, anchors, points, lists and keys. */

import { assemble, framed, handler, returning } from "../../../tests/support/wasm/build_module.ts";
import type { AttackGroup, HostileRequest, Json, Step } from "../attack.ts";
import { blobUpload } from "../besieged.ts";
import {
  ACTOR,
  eventType,
  idOf,
  importEvents,
  importLines,
  read,
  repeat,
  specOf,
  times,
  write,
  writeMany,
  writeRepeated,
} from "../documents.ts";
import { limits } from "../../../src/domain/limits.ts";

const MiB = 2 ** 20;
const ID = idOf(1);
const NEEDS = "operator of one instance";

function plainSpec(): Json {
  return specOf({ thing: { was_seen: eventType({ increment: { target: "n" } }) } });
}
const AT = "?environment=test&instance_id={instance}";

function line(number: number, data: Json = {}): string {
  const metadata = { actor: ACTOR, timestamp: 1_000_000_000 };
  return `${JSON.stringify({ key: `thing:${idOf(number)}`, type: "was_seen", data, metadata })}\n`;
}

function admin(path: string, body: Json): HostileRequest {
  return { path: `${path}${AT}`, body: JSON.stringify(body), as: "operator" };
}

/** Asks for something of all instances. */
function ofAll(path: string): HostileRequest {
  return { path: `${path}?environment=test`, body: "{}", as: "operator" };
}

/** As many keys with an escape as fit into an event. */
const LARGE_ESCAPED = {
  type: "was_seen",
  data: Object.fromEntries(repeat(6_000, (i) => [`"${i}`, []])),
};

const ANCHOR = ofAll("/_admin/anchors");

function seen(path: string): HostileRequest {
  return { path, as: "operator" };
}

/** A module whose handler has this body, and a type that it folds. */
async function* moduleSteps(body: string): AsyncIterable<Step> {
  yield* folding(await framed(handler(body)));
}

/** A module with room for large events, whose states are empty. */
async function* quickModule(): AsyncIterable<Step> {
  const room = `(memory (export "memory") 512)
    (func (export "malloc") (param i32) (result i32) (i32.const 65536))`;
  yield* folding(await assemble(`(module ${room} ${returning("{}")})`));
}

function* folding(module: Uint8Array<ArrayBuffer>): Iterable<Step> {
  yield blobUpload("hostile", module);
  const handled = { schema: true, handler: { wasm: { blob_name: "hostile", timeout_ms: 5_000 } } };
  yield {
    path: "/api/instances/{instance}/spec?environment=test",
    body: JSON.stringify({ spec: specOf({ thing: { was_seen: handled } }) }),
    as: "operator",
  };
}

/** A spec with `count` listeners that all hear the same event. */
function listening(count: number, url: (index: number) => string): Json {
  const listeners = Object.fromEntries(repeat(count, (i) => [
    `l${i}`,
    { url: url(i), secret: "a secret of sixteen", events: ["*"] },
  ]));
  return specOf({ thing: { was_seen: eventType() } }, { modules: { listeners } });
}

/**
 * A receiver that lasts as long as the siege; its answer depends on the first segment of the
 * path.
 */
let receiver: number | undefined;

function receiverPort(): number {
  receiver ??= Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const path = new URL(request.url).pathname;
    await request.body?.cancel();
    if (path.startsWith("/slow")) await new Promise((resolve) => setTimeout(resolve, 14_000));
    if (path.startsWith("/fail")) return new Response(null, { status: 500 });
    if (path.startsWith("/away")) {
      return new Response(null, { status: 302, headers: { location: "/away" } });
    }
    if (path.startsWith("/huge")) return new Response("a".repeat(10 * MiB));
    return new Response();
  }).addr.port;
  return receiver;
}

function* pointsInOnePlace(count: number, lat: number): Iterable<Step> {
  yield importEvents(
    repeat(
      count,
      (i) => ["thing", idOf(i), "was_seen", { at: { lat, lng: 13 + i / 1e7 } }] as const,
    ),
  );
}

function geoSpec(): Json {
  return specOf({
    thing: { was_seen: { ...eventType(), geo: { type: "point", path: "$.data.at" } } },
  });
}

function listenerRow(name: string, does: string, kind: string, count = 100) {
  return {
    name,
    does,
    needs: "spec + write key",
    watch: ["delivery"] as const,
    spec: () => listening(count, (i) => `http://127.0.0.1:${receiverPort()}/${kind}/${i}`),
    waves: [{
      request: (turn: number) => write("thing", idOf(turn % 500), "was_seen", {}),
      clients: 4,
      pauseMs: 20,
    }],
    seconds: 12,
  };
}

export const OPERATORS: AttackGroup = {
  title: "operators",
  attacks: [
    {
      name: "own tier lifted",
      does: "a token limited to one instance asks for the tier unlimited",
      needs: "token limited to one instance",
      waves: [{
        request: {
          method: "PATCH",
          path: "/api/instances/{instance}",
          body: '{"tier":"unlimited"}',
          as: "operator",
        },
        clients: 1,
        pauseMs: 200,
      }],
      mayHear: [403],
    },
    {
      name: "instances made by the limited",
      does: "the same token asks for new instances",
      needs: "token limited to one instance",
      waves: [{
        request: (turn) => ({
          path: "/api/instances",
          body: JSON.stringify({ slug: `more-${turn}` }),
          as: "operator",
        }),
        clients: 1,
        pauseMs: 200,
      }],
      mayHear: [403],
    },
    {
      name: "four imports that drip",
      does: "imports of which a byte comes each half second, while a neighbour imports",
      needs: NEEDS,
      watch: ["import"],
      spec: plainSpec,
      waves: [{
        request: importLines(repeat(1_000, (i) => line(i)).join("")),
        manner: "drip",
        clients: 8,
      }],
    },
    {
      name: "imports without a pause",
      does: "eight imports of 7 MB each, again and again",
      needs: NEEDS,
      watch: ["import"],
      spec: plainSpec,
      waves: [{ request: importLines(repeat(50_000, (i) => line(i)).join("")), clients: 8 }],
    },
    {
      name: "import of long lines",
      does: "lines of 1 MiB that are no JSON to their last character",
      needs: NEEDS,
      spec: plainSpec,
      waves: [{
        request: importLines(`${`{"a":"${"a".repeat(MiB - 20)}\n`.repeat(30)}`),
        clients: 3,
      }],
    },
    {
      name: "import of empty lines",
      does: "20 million lines with nothing in them",
      needs: NEEDS,
      spec: plainSpec,
      waves: [{ request: importLines("\n".repeat(20 * MiB)), clients: 3 }],
    },
    {
      name: "import of one stream",
      does: "100,000 events of one stream in an order that goes back and forth",
      needs: NEEDS,
      spec: plainSpec,
      waves: [{
        request: () => importLines(repeat(100_000, (i) => line(i % 2)).join("")),
        clients: 2,
      }],
    },
    {
      name: "import of large events",
      does: "40 MB of events of 95 KB",
      needs: NEEDS,
      spec: plainSpec,
      waves: [{
        request: importLines(repeat(400, (i) => line(i, { t: "a".repeat(95_000) })).join("")),
        clients: 4,
      }],
    },
    {
      name: "import that judges much",
      does: "6,000 events of 200 items in one JSON body, of which only the last is refused",
      needs: NEEDS,
      spec: () =>
        specOf({
          thing: {
            was_seen: { schema: { properties: { v: { items: { type: "number" } } } }, handler: [] },
          },
        }),
      waves: [{
        request: () =>
          admin("/_admin/import", {
            events: repeat(
              6_000,
              (i) => JSON.parse(line(i, { v: repeat(200, (k) => i < 5_999 ? k : "no number") })),
            ),
          }),
        clients: 2,
      }],
    },
    {
      name: "module that loops",
      does: "a handler that never ends, with the longest time that it may ask for",
      needs: "spec, blob + write key",
      watch: ["module"],
      prepare: () => moduleSteps("(loop (br 0)) (i64.const 0)"),
      waves: [{ request: (turn) => write("thing", idOf(turn), "was_seen", {}), clients: 32 }],
      mayHear: [500, 503, 422, 429, 408],
      seconds: 12,
    },
    {
      name: "module that grows",
      does: "a handler that takes all the memory that it may have, and writes to it",
      needs: "spec, blob + write key",
      watch: ["module"],
      prepare: () =>
        moduleSteps(`(drop (memory.grow (i32.const 1022)))
          (memory.fill (i32.const 0) (i32.const 1) (i32.const 66000000)) (i64.const 0)`),
      waves: [{ request: (turn) => write("thing", idOf(turn), "was_seen", {}), clients: 32 }],
      mayHear: [500, 503, 422, 429, 408],
    },
    {
      name: "module that calls itself",
      does: "a handler that runs out of its stack",
      needs: "spec, blob + write key",
      watch: ["module"],
      prepare: () =>
        moduleSteps(
          "(i64.add (i64.const 1) (call $handler (local.get $pointer) (local.get $length)))",
        ),
      waves: [{ request: (turn) => write("thing", idOf(turn), "was_seen", {}), clients: 32 }],
      mayHear: [500, 503, 422, 429, 408],
    },
    {
      name: "module that gets batches of large events",
      does: "80 events of 90 KB in a batch, whose keys have escapes",
      needs: "spec, blob + write key",
      prepare: quickModule,
      waves: [{
        request: (turn) => writeRepeated("thing", idOf(turn), 80, LARGE_ESCAPED),
        clients: 2,
      }],
      mayHear: [500, 503, 422, 429, 408],
    },
    {
      name: "modules uploaded without a pause",
      does: "modules of 4 MB that are no modules, and small ones that are",
      needs: NEEDS,
      waves: [
        { request: () => blobUpload("zeros", new Uint8Array(4 * MiB - 8)), clients: 2 },
        {
          request: () =>
            blobUpload(
              "small",
              // A header and a custom section of 1,000 bytes, the first of which is an empty name.
              Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 0, 0xe8, 7, ...new Uint8Array(1_000)),
            ),
          clients: 2,
        },
      ],
    },
    {
      name: "multipart of 10000 parts",
      does: "an upload whose body is nothing but boundaries",
      needs: NEEDS,
      waves: [{
        request: () => ({
          path: `/_admin/blobs${AT}`,
          body: `${
            '--x\r\nContent-Disposition: form-data; name="name"\r\n\r\na\r\n'.repeat(70_000)
          }--x--\r\n`,
          contentType: "multipart/form-data; boundary=x",
          as: "operator",
        }),
        clients: 3,
      }],
    },
    {
      name: "multipart of half boundaries",
      does: "4 MB of what nearly is a boundary",
      needs: NEEDS,
      waves: [{
        request: () => ({
          path: `/_admin/blobs${AT}`,
          body: `--${
            "-".repeat(60)
          }x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${
            `\r\n--${"-".repeat(60)}`.repeat(60_000)
          }`,
          contentType: `multipart/form-data; boundary=${"-".repeat(60)}x`,
          as: "operator",
        }),
        clients: 3,
      }],
    },
    listenerRow("listeners that are slow", "100 listeners that answer after 14 s", "slow"),
    listenerRow("listeners that fail", "100 listeners that answer 500", "fail"),
    listenerRow("listeners that send away", "100 listeners that redirect to themselves", "away"),
    listenerRow("listeners with huge answers", "100 listeners that answer with 10 MB", "huge", 40),
    {
      name: "listeners without a name",
      does: "100 listeners whose host names nobody knows",
      needs: "spec + write key",
      watch: ["delivery"],
      spec: () => listening(100, (i) => `http://nobody-${i}.invalid/`),
      waves: [{
        request: (turn) => write("thing", idOf(turn % 500), "was_seen", {}),
        clients: 4,
        pauseMs: 20,
      }],
      seconds: 12,
    },
    {
      name: "listeners of large events",
      does: "events of 95 KB for 40 listeners that are slow",
      needs: "spec + write key",
      watch: ["delivery"],
      spec: () => listening(40, (i) => `http://127.0.0.1:${receiverPort()}/slow/${i}`),
      waves: [{
        request: (turn) => write("thing", idOf(turn % 500), "was_seen", { t: "a".repeat(95_000) }),
        clients: 4,
      }],
    },
    {
      name: "nearby among many in one place",
      does: "20,000 points within metres, asked for with the largest radius",
      needs: "spec + write key",
      spec: geoSpec,
      prepare: () => pointsInOnePlace(20_000, 52),
      waves: [{ request: read("/thing/nearby?lat=52&lng=13&radius=100000&limit=200"), clients: 8 }],
    },
    {
      name: "nearby at a pole",
      does: "20,000 points at the pole, where all meridians meet",
      needs: "spec + write key",
      spec: geoSpec,
      prepare: () => pointsInOnePlace(20_000, 89.9999),
      waves: [{ request: read("/thing/nearby?lat=90&lng=0&radius=100000&limit=200"), clients: 8 }],
    },
    {
      name: "anchors without a pause",
      does: "an anchor over 30,000 streams after each write",
      needs: NEEDS,
      spec: plainSpec,
      prepare:
        () => [importEvents(repeat(30_000, (i) => ["thing", idOf(i), "was_seen", {}] as const))],
      waves: [
        { request: ANCHOR, clients: 2 },
        { request: (turn) => write("thing", idOf(turn % 30_000), "was_seen", {}), clients: 4 },
      ],
    },
    {
      name: "proofs of a long stream",
      does: "proofs of events of a stream of 50,000",
      needs: "read key",
      spec: plainSpec,
      *prepare() {
        for (let i = 0; i < 5; i++) {
          yield writeMany("thing", ID, times(limits.batchEventsMax, "was_seen"));
        }
        yield ANCHOR;
      },
      waves: [{
        request: (turn) => read(`/thing/${ID}/audit/attestation/${turn * 7 % 50_000}`),
        clients: 16,
      }],
    },
    {
      name: "proofs of large events",
      does: "proofs of an event of a stream of 255 events of 90 KB, the most without a full tile",
      needs: "read key",
      spec: plainSpec,
      *prepare() {
        yield importEvents(
          repeat(255, () => ["thing", ID, "was_seen", { t: "a".repeat(90_000) }] as const),
        );
        yield ANCHOR;
      },
      waves: [{ request: read(`/thing/${ID}/audit/attestation/0`), clients: 4 }],
    },
    {
      name: "erasure of a long stream",
      does: "a stream of 100,000 events is erased, and others after it",
      needs: NEEDS,
      spec: plainSpec,
      prepare: () =>
        repeat(10, () => writeMany("thing", ID, times(limits.batchEventsMax, "was_seen"))),
      waves: [{
        request: admin("/_admin/tombstones", {
          key: `thing:${ID}`,
          reason: "a siege",
          grace_hours: 0,
        }),
        clients: 1,
        pauseMs: 500,
      }],
    },
    {
      name: "erasures without a pause",
      does: "20,000 streams are erased, one request for each",
      needs: NEEDS,
      spec: plainSpec,
      prepare:
        () => [importEvents(repeat(20_000, (i) => ["thing", idOf(i), "was_seen", {}] as const))],
      waves: [{
        request: (turn) =>
          admin("/_admin/tombstones", {
            key: `thing:${idOf(turn % 20_000)}`,
            reason: "a siege",
            grace_hours: 0,
          }),
        clients: 8,
      }],
    },
    {
      name: "signing keys without a pause",
      does: "new signing keys, as many as can be made",
      needs: NEEDS,
      waves: [{ request: ofAll("/_admin/signing-keys"), clients: 8 }],
    },
    {
      name: "API keys without a pause",
      does: "new API keys, and the list of them",
      needs: NEEDS,
      waves: [
        {
          request: (turn) => ({
            path: "/api/instances/{instance}/keys?environment=test",
            body: JSON.stringify({ name: `key ${turn}`, scope: "read" }),
            as: "operator",
          }),
          clients: 8,
        },
        { request: seen("/api/instances/{instance}/keys?environment=test&limit=200"), clients: 8 },
      ],
    },
    {
      name: "lists of operators without a pause",
      does: "every list that an operator may ask for",
      needs: NEEDS,
      spec: plainSpec,
      waves: [
        "/api/instances",
        "/api/instances/{instance}/specs?environment=test",
        "/api/instances/{instance}/usage?environment=test",
        "/api/instances/{instance}/projections?environment=test",
        `/_admin/imports${AT}`,
        `/_admin/tombstones${AT}`,
        `/_admin/blobs${AT}`,
        `/_admin/debug${AT}`,
      ].map((path) => ({ request: seen(path), clients: 4 })),
    },
    {
      name: "error records without a pause",
      does: "writes whose implications fail a hundred times, and the list of the records",
      needs: "spec + write key",
      spec: () =>
        specOf({
          thing: {
            was_seen: eventType([], {
              implications: repeat(100, () => ({
                emit: { aggregate_type: "thing", id: "$.data.id", event_type: "was_seen" },
              })),
            }),
          },
        }),
      waves: [
        { request: write("thing", ID, "was_seen", { id: "no id at all" }), clients: 8 },
        { request: read("/_errors?limit=200"), clients: 8 },
      ],
    },
  ],
};
