/** Keeps docs/reference/limits.md true, and the limits that other pages repeat. */

import assert from "node:assert/strict";
import { limits } from "../../src/domain/limits.ts";
import { API_KEYS_MAX } from "../../src/domain/transfer/record.ts";
import { HEADER_BYTES, LIVE_ANSWER_BYTES } from "../../src/http/feed/live_count.ts";
import { readText, sectionOf, tableRows } from "./markdown.ts";

const REFERENCE = readText("docs/reference/limits.md");
const MiB = 1024 * 1024;

/** A number as the reference writes it. */
function told(number: number): string {
  return number.toLocaleString("en");
}

function mebibytes(bytes: number): string {
  return `${bytes / MiB} MiB`;
}

/** What the second column says, by what the first one begins with. */
const STATED: Readonly<Record<string, string>> = {
  "head of a request": "65,536 bytes; 1,024 characters",
  "body of a write": `${told(limits.requestBodyBytesMax)} bytes`,
  "body of a request without a key": `${told(limits.openBodyBytesMax)} bytes`,
  "body of a deploy": `${told(limits.specBodyBytesMax)} bytes, ` +
    `${told(limits.projectionBodyBytesMax)} bytes`,
  "body of a query": `${told(limits.sqlBodyBytesMax)} bytes`,
  "body of any other operator call": `${told(limits.operatorBodyBytesMax)} bytes`,
  "bodies above 16 KiB under way": `${mebibytes(limits.bodiesBytesMax)}, ` +
    `of one instance ${mebibytes(limits.bodiesBytesMax / 4)}`,
  "answers above 64 KiB": `${mebibytes(limits.answersBytesMax)}, ` +
    `of one instance ${mebibytes(limits.answersBytesMax / 4)}`,
  "CSV exports of one instance under way": "8",
  "writes of one instance that take long": "64",
  "pause of a client in reading": `${limits.answerStallSecondsMax} s`,
  "`data` of one event": `${told(limits.eventDataBytesMax)} bytes of JSON`,
  "what one write stores": `${told(limits.writeStoredBytesMax)} bytes`,
  "events that one write implies and schedules": told(limits.implicationActionsMax),
  "events that one write sets off": told(limits.rootEventsMax),
  "events set off by recurring timers": told(limits.recurringEventsPerHourMax),
  "events of a batch": told(limits.batchEventsMax),
  "targets of an atomic write": `1-${limits.atomicTargetsMax}`,
  "nesting of JSON": `${limits.jsonDepthMax} levels`,
  "values of a body": told(limits.jsonNodesMax),
  "keys of one object, items of one list of a body": `${told(limits.jsonObjectKeysMax)}; ` +
    told(limits.jsonListItemsMax),
  "a string of a body": `${told(limits.jsonStringCharactersMax)} characters`,
  "a number of a body": `${told(limits.jsonNumberCharactersMax)} characters`,
  spec: `${told(limits.specBytesMax)} bytes`,
  "[aggregate types of a spec; watched event types": `${told(limits.aggregateTypesMax)}; ` +
    told(limits.watchedNamesMax),
  "page of events": `${limits.eventsPageDefault}, at most ${told(limits.eventsPageMax)}, ` +
    `and ${mebibytes(limits.pageBytesMax)}`,
  "page of the feed": `${limits.feedPageDefault}, at most ${told(limits.feedPageMax)}, ` +
    `and ${mebibytes(limits.pageBytesMax)}`,
  "names in `types` of the feed": String(limits.feedTypesMax),
  "page of `GET /_types`": told(limits.typesPageMax),
  "wait of a long poll": `${limits.feedWaitSecondsDefault} s, ` +
    `at most ${limits.feedWaitSecondsMax} s`,
  "live answers and waiting long polls": `${mebibytes(limits.liveAnswersBytesMax)}, ` +
    `of one instance ${mebibytes(limits.liveAnswersBytesPerInstanceMax)}: ` +
    "about 5,800 and 3,900",
  "frames of live answers": `${mebibytes(limits.liveBytesMax)}, ` +
    `of one instance ${mebibytes(limits.liveBytesMax / 4)}`,
  "what one live answer sends at a time": `${limits.liveChunkEntriesMax} entries or ` +
    `${limits.liveChunkBytesMax / 1024} KiB, or one larger event or state`,
  "a live answer": `${limits.liveSecondsMax} s, or up to a tenth less`,
  "every other list": `${limits.listPageDefault}, at most ${limits.listPageMax}`,
  "radius of `nearby`": `${limits.nearbyRadiusMetresMin} to ` +
    `${told(limits.nearbyRadiusMetresMax)} metres`,
  "events folded for one read": `${told(limits.foldBytesMax)} bytes, ` +
    "counted after the newest snapshot",
  "states of all aggregates of a write": mebibytes(limits.stateBytesMax),
  state: `${mebibytes(limits.stateBytesMax)} of JSON, ${told(limits.stateDepthMax)} levels`,
  "WebAssembly module": `${told(limits.wasmModuleBytesMax)} bytes`,
  "import: one line, the whole file": `${told(limits.importLineBytesMax)} bytes, ` +
    `${limits.importBytesMax / (1024 * MiB)} GiB`,
  "import: pause between two pieces": `${limits.requestBodySecondsMax} s`,
  "import: events of one": `${told(limits.importEventsMax)}, ` +
    "in a body of at most the size of a write's",
  "import: each text in `metadata.origin` of an event": `${
    told(limits.originTextCharactersMax)
  } characters`,
  "import: imports at a time": String(limits.importsUnderWayMax),
  [`import: what must arrive of a file in ${limits.importWaitMsWindow / 1000} s`]:
    `at least ${limits.importBytesMin / 1024} KiB; ` +
    `${mebibytes(limits.importBytesBesideOthersMin)} while others wait for a place`,
  "time of modules for one request": `${limits.wasmRequestMsMax / 1000} s: ` +
    "folding, judging or implying",
  "idempotency key": `1-${limits.idempotencyKeyCharactersMax} characters, ` +
    `kept ${limits.idempotencyRetentionSeconds / 3600} hours after its last use`,
  "how a scheduled event has ended": `known for ${limits.scheduleHistorySeconds / 86_400} days`,
  "API keys of an environment": told(API_KEYS_MAX),
  "effects of an event": `${told(limits.effectsEventsMax)} events and ` +
    `${mebibytes(limits.effectsCharactersMax)} in one answer`,
  "error record": `kept ${limits.errorRecordRetentionSeconds / 3600} hours`,
  "failed logins of an account": `${limits.failedLoginsPerMinuteMax}; ` +
    `${limits.failedLoginsOfAccountPerMinuteMax}; ` +
    `${limits.failedLoginsOfAddressPerMinuteMax} in a minute`,
  "`details`, `violations`": `${limits.schemaDetailsMax}, ${limits.violationsMax} in one answer`,
};

/** Limits that are no numbers of `limits.ts`. */
const ELSEWHERE = [
  "long reads of one instance",
  "tag of a UUID",
  "operator token",
  "page of `GET /_admin/blobs`",
];

Deno.test("the reference of limits states each limit as the code has it", () => {
  const rows = tableRows(sectionOf(REFERENCE, "## All limits"));
  const open = new Set(Object.keys(STATED));
  for (const [what = "", limit] of rows) {
    if (ELSEWHERE.some((begin) => what.startsWith(begin))) continue;
    const begin = [...open].find((begin) => what.startsWith(begin));
    assert.ok(begin !== undefined, `add a row of this test for "${what}"`);
    assert.equal(limit, STATED[begin], what);
    open.delete(begin);
  }
  assert.deepEqual([...open], [], "rows that the reference lacks");
});

/** Sentences and cells of other pages that repeat a limit. */
const REPEATED: readonly (readonly [path: string, text: string])[] = [
  ["docs/reference/writing.md", `array of 1-${told(limits.batchEventsMax)} \`{type, data?}\``],
  ["docs/reference/writing.md", `More than ${told(limits.batchEventsMax)} events are 422`],
  ["docs/reference/writing.md", `array of 1-${limits.atomicTargetsMax} targets`],
  ["docs/reference/writing.md", `at most ${told(limits.batchEventsMax)} events in all`],
  ["docs/errors/bad_request.md", `events must hold at most <${limits.batchEventsMax}> events`],
  ["docs/errors/bad_request.md", `must hold at most <${limits.batchEventsMax}> events in all`],
  ["docs/errors/bad_request.md", `targets must hold 1 to <${limits.atomicTargetsMax}> targets`],
  ["docs/reference/feed.md", `up to ${limits.feedTypesMax} names`],
  [
    "docs/reference/feed.md",
    `integer 1-${told(limits.feedPageMax)}, default ${limits.feedPageDefault}`,
  ],
  [
    "docs/reference/feed.md",
    `integer 1-${limits.feedWaitSecondsMax}, default ${limits.feedWaitSecondsDefault}`,
  ],
  [
    "docs/reference/feed.md",
    `counts as ${LIVE_ANSWER_BYTES / 1024} KiB, three times the head of its request, and ` +
    `${HEADER_BYTES} bytes for each header`,
  ],
  ["docs/reference/specs.md", `| aggregate types | ${told(limits.aggregateTypesMax)} |`],
  ["docs/reference/specs.md", `together | ${limits.sagaAwaitEventsMax} |`],
  ["docs/reference/specs.md", `over all its specs | ${told(limits.watchedNamesMax)} |`],
  ["docs/reference/reactions.md", `of an environment | ${told(limits.watchedNamesMax)} |`],
  ["docs/reference/specs.md", `object of at most ${told(limits.aggregateTypesMax)} entries`],
  ["docs/reference/imports.md", `up to ${told(limits.importEventsMax)} events`],
  ["docs/reference/reactions.md", `sets off at most ${told(limits.rootEventsMax)} events in all`],
  [
    "docs/reference/reading.md",
    `default ${limits.eventsPageDefault}, maximum ` +
    told(limits.eventsPageMax),
  ],
  ["docs/reference/check-data.md", `| time | about ${limits.dataCheckMsMax / 1000} s |`],
  [
    "docs/reference/check-data.md",
    `| events tried, their bytes | ${told(limits.dataCheckEventsMax)}, ` +
    `${mebibytes(limits.dataCheckBytesMax)} |`,
  ],
  [
    "docs/reference/check-data.md",
    `| aggregates folded | ${told(limits.dataCheckFoldsMax)}, of at most ` +
    `${mebibytes(limits.dataCheckStreamBytesMax)} of events each |`,
  ],
  ["docs/reference/check-data.md", `${told(limits.dataCheckStateCharactersMax)} characters |`],
  [
    "docs/reference/check-data.md",
    `| examples of a type, types listed | ${limits.dataCheckExamplesMax}, ` +
    `${limits.violationsMax} |`,
  ],
  [
    "docs/reference/check-data.md",
    `Of states beyond ${told(limits.dataCheckExampleCharactersMax)} characters`,
  ],
  ["docs/reference/listeners.md", `24 hours, up to ${told(limits.deliveredKeptMax)} for each`],
];

for (const [path, text] of REPEATED) {
  Deno.test(`${path} repeats a limit as the code has it: ${text}`, () => {
    assert.ok(readText(path).replaceAll(/\s+/g, " ").includes(text));
  });
}
