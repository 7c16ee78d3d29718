/** A small environment file, intact and damaged in every way. */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { createFileCheck, type FileItem } from "../../../src/domain/transfer/check_file.ts";
import { createLineSplitter } from "../../../src/domain/transfer/split_lines.ts";

const DEFINITION = '{"name":"notes","saga":{"steps":[{"emit":{"aggregate_type":"order",' +
  '"event_type":"was_noted","id":"$.id"},"name":"note"}],"trigger":{"aggregate_type":"order",' +
  '"event_type":"was_placed"}},"singletons":[]}';
const DEFINITION_HASH = hash("sha256", DEFINITION, "hex");
const EMISSION = '{"key":"order:main","aggregateType":"order","id":"main",' +
  '"eventType":"was_noted","data":{}}';
const TRIGGER = '{"key":"order:main","event_type":"was_placed","stream_id":"000000000000"}';
const STORED = '{"key":"order:main","type":"was_placed","data":{},' +
  '"metadata":{"actor":{"type":"user","id":"global"},"timestamp":5}}';

/** One work item of each kind; the second is in two parts. */
const WORK: readonly (readonly [kind: string, text: string])[] = [
  [
    "outbox_entry",
    '{"place":{"stream":"order:main","index":0,"number":0},"entry":{"kind":"emit",' +
    `"emission":${EMISSION},"actor":{"type":"user","id":"global"},"eventType":"was_placed",` +
    '"depth":1,"requestId":"r"},"sinceMs":5000,"waitMs":1000,"tries":0}',
  ],
  [
    "scheduled_event",
    `{"id":"s","emission":${EMISSION},"cancelOn":[{"key":"order:main","eventType":"was_paid"}],` +
    '"createdMs":5000,"fireAtMs":6000,"by":{"key":"order:main","eventType":"was_placed",' +
    '"streamId":"000000000000"},"requestId":"r","tries":0,"timerMs":6000}',
  ],
  [
    "saga",
    `{"instance":{"id":"saga_${"0".repeat(36)}","name":"notes","definition":"${DEFINITION_HASH}",` +
    `"state":"running","startedAt":5,"updatedAt":5,"trigger":${TRIGGER},` +
    `"triggerEvent":${STORED},"completed":[],"history":[{"at":5,"step":"note",` +
    `"outcome":"emitted","event":${TRIGGER}}],"waiting":{"kind":"event","step":0,` +
    '"key":"order:main","eventTypes":["was_paid"],"dueMs":35000}},"depth":1,"requestId":"r",' +
    '"awaitsFrom":1,"timerMs":35000}',
  ],
  ["saga_definition", `{"hash":"${DEFINITION_HASH}","kept":${DEFINITION}}`],
];

function work(kind: string, text: string): string[] {
  const parts = kind === "scheduled_event" ? [text.slice(0, 30), text.slice(30)] : [text];
  return [
    `{"record":"work","kind":"${kind}","parts":${parts.length}}`,
    ...parts.map((part) => JSON.stringify({ record: "work_part", text: part })),
  ];
}

/** Blob files are plain bytes; the file check does not decide whether they are modules. */
const BLOBS: readonly (readonly [name: string, version: number, file: Uint8Array])[] = [
  ["logic", 1, Uint8Array.of(0, 1, 2, 3, 250, 251, 252, 253)],
  ["other", 1, Uint8Array.of(7)],
  ["logic", 2, Uint8Array.of(9, 8, 7)],
];

function blob(name: string, version: number, file: Uint8Array): string[] {
  const text = file.toBase64();
  const parts = text.length > 8 ? [text.slice(0, 5), text.slice(5)] : [text];
  return [
    `{"record":"blob","name":"${name}","version":${version},` +
    `"sha256":"${hash("sha256", file, "hex")}","bytes":${file.length},` +
    `"created_at":"2026-01-01T00:00:00.000Z","parts":${parts.length}}`,
    ...parts.map((part) => JSON.stringify({ record: "blob_part", text: part })),
  ];
}

/** Every kind of record; the digests are computed here, from the description of the format. */
function smallFile(): string {
  const event = (key: string, text: string) =>
    `{"key":"${key}","type":"was_noted","data":{"text":"${text}"},` +
    '"metadata":{"actor":{"type":"user","id":"global"},"timestamp":5}}';
  const chain = (raws: readonly string[]) =>
    raws.reduce((tip, raw) => hash("sha256", tip + raw, "hex"), "");
  const a = [event("order:global", "one"), event("order:global", "zwei ü")];
  const later = event("order:global", "three");
  const b = [event("order:main", "1")];
  const hex = (digit: string) => digit.repeat(64);
  const lines = [
    '{"record":"header","format":"daybook-environment","version":5,"instance":' +
    '{"id":"3b2fbda7-fab3-49f2-ad20-916eb86ce916","slug":"shop","tier":"pro",' +
    '"created_at":"2026-01-01T00:00:00.000Z"},"environment":"test",' +
    '"exported_at":"2026-01-01T00:00:00.000Z"}',
    `{"record":"signing_key","number":1,"public_key":"${hex("a")}","private_key":"${hex("b")}",` +
    '"created_at":"2026-01-01T00:00:00.000Z"}',
    `{"record":"spec","version":1,"spec_hash":"${hex("c")}",` +
    '"created_at":"2026-01-01T00:00:00.000Z","parts":2}',
    '{"record":"spec_part","text":"{\\"agent_types\\":"}',
    '{"record":"spec_part","text":"[]}"}',
    '{"record":"stream","key":"order:global","generation":0,"created_at":5,"updated_at":5,"from":0}',
    ...a,
    `{"record":"tip","length":2,"tip":"${chain(a)}"}`,
    '{"record":"stream","key":"order:main","generation":1,"created_at":5,"updated_at":5,"from":0}',
    ...b,
    `{"record":"tip","length":1,"tip":"${chain(b)}"}`,
    '{"record":"stream","key":"order:global","generation":0,"created_at":5,"updated_at":5,' +
    `"from":2,"tip":"${chain(a)}"}`,
    later,
    `{"record":"tip","length":3,"tip":"${chain([...a, later])}"}`,
    `{"record":"api_key","id":"key_1","name":"n","scope":"read","hash":"${hex("d")}",` +
    '"created_at":"2026-01-01T00:00:00.000Z"}',
    `{"record":"ledger","key":"k","body_hash":"${hex("e")}","used":5,"form":"single",` +
    '"request_id":"r","implied_count":0,"targets":[["order:main",0,1]]}',
    ...WORK.flatMap(([kind, text]) => work(kind, text)),
    ...BLOBS.flatMap(([name, version, file]) => blob(name, version, file)),
    '{"record":"current_spec","version":1}',
  ];
  const before = lines.map((line) => line + "\n").join("");
  const bytes = [...a, ...b, later].reduce((sum, raw) => sum + new Blob([raw]).size, 0);
  return before + `{"record":"end","lines":${lines.length},"signing_keys":1,"specs":1,` +
    `"streams":2,"events":4,"event_bytes":${bytes},"api_keys":1,"ledger_entries":1,"work":4,"blobs":${BLOBS.length},` +
    `"sha256":"${hash("sha256", before, "hex")}"}\n`;
}

/** A stride without a common divisor with 8 comes to each bit of a byte. */
const BIT_STRIDE = Number(Deno.env.get("FILE_BIT_STRIDE") ?? 1);
const FILE = new TextEncoder().encode(smallFile());
const LINES = smallFile().split("\n").slice(0, -1);

interface Checked {
  readonly items: FileItem[];
  /** `<rule>@<line>`, or undefined for an intact file. */
  readonly fault: string | undefined;
}

function checkBytes(bytes: Uint8Array): Checked {
  const check = createFileCheck();
  const splitter = createLineSplitter();
  const items: FileItem[] = [];
  for (const line of splitter.push(bytes)) {
    const step = check.take(line);
    if (!step.ok) return { items, fault: `${step.fault.rule}@${step.fault.line}` };
    if (step.item !== undefined) items.push(step.item);
  }
  const fault = check.finish(splitter.rest());
  return { items, fault: fault && `${fault.rule}@${fault.line}` };
}

function checkLines(lines: readonly string[]): string | undefined {
  return checkBytes(new TextEncoder().encode(lines.map((line) => line + "\n").join(""))).fault;
}

Deno.test("createFileCheck() gives out all that a whole file holds, in order", () => {
  const { items, fault } = checkBytes(FILE);
  assert.equal(fault, undefined);
  const kinds = items.map(({ kind }) => kind);
  const first = ["stream", "event", "event", "tip"];
  const second = ["stream", "event", "tip"];
  const start = ["header", "signing_key", "spec"];
  const works = ["work", "work", "work", "work"];
  const rest = ["api_key", "ledger", ...works, "blob", "blob", "blob", "current_spec", "end"];
  assert.deepEqual(kinds, [...start, ...first, ...second, ...second, ...rest]);
  const blobs = items.flatMap((item) => item.kind === "blob" ? [item] : []);
  assert.deepEqual(blobs.map(({ blob, file }) => [blob.name, blob.version, file]), BLOBS);
  const spec = items.find((item) => item.kind === "spec");
  assert.equal(spec?.text, '{"agent_types":[]}');
  const found = items.flatMap((item) => item.kind === "work" ? [item] : []);
  assert.deepEqual(
    found.map(({ work, bytes }) => [work.kind, work.moved, bytes]),
    WORK.map(([kind, text]) => [kind, JSON.parse(text), text.length]),
  );
});

Deno.test("createFileCheck() reads files of the first version, which had no pending work", () => {
  const old = Deno.readFileSync(new URL("../../golden/transfer/version_1.jsonl", import.meta.url));
  const { items, fault } = checkBytes(old);
  assert.equal(fault, undefined);
  const end = items.at(-1)!;
  assert.deepEqual(end.kind === "end" && end.counts, {
    lines: 19,
    signing_keys: 0,
    specs: 1,
    streams: 4,
    events: 5,
    event_bytes: 984,
    api_keys: 1,
    ledger_entries: 1,
    work: 0,
    blobs: 0,
  });
  const lines = new TextDecoder().decode(old).split("\n").slice(0, -1);
  const more = lines.toSpliced(-2, 0, ...work(...WORK[0]!));
  assert.equal(checkLines(more), `unknown_record@${lines.length - 1}`, "it had no such record");
  const blobs = lines.toSpliced(-2, 0, ...blob(...BLOBS[0]!));
  assert.equal(checkLines(blobs), `unknown_record@${lines.length - 1}`, "nor this one");
  for (const version of [2, 3]) {
    const newer = lines.with(0, lines[0]!.replace('"version":1', `"version":${version}`));
    assert.equal(checkLines(newer), `checksum@${lines.length}`);
  }
});

Deno.test("createFileCheck() refuses the file with any one bit of it changed", () => {
  for (let bit = 0; bit < 8 * FILE.length; bit += BIT_STRIDE) {
    const altered = FILE.slice();
    altered[bit >> 3]! ^= 1 << (bit & 7);
    assert.notEqual(checkBytes(altered).fault, undefined, `bit ${bit & 7} of byte ${bit >> 3}`);
  }
});

Deno.test("createFileCheck() refuses the file cut off after any byte", () => {
  for (let length = 0; length < FILE.length; length++) {
    const { fault } = checkBytes(FILE.subarray(0, length));
    assert.match(fault ?? "", /^cut_off@\d+$/, `cut after ${length} bytes`);
  }
});

Deno.test("createFileCheck() refuses the file without any one line, or with it twice", () => {
  for (let at = 0; at < LINES.length; at++) {
    assert.notEqual(checkLines(LINES.toSpliced(at, 1)), undefined, `without line ${at + 1}`);
    assert.notEqual(checkLines(LINES.toSpliced(at, 0, LINES[at]!)), undefined, `line ${at + 1}`);
  }
});

Deno.test("createFileCheck() refuses the file with any two lines in each other's place", () => {
  for (let a = 0; a < LINES.length; a++) {
    for (let b = a + 1; b < LINES.length; b++) {
      const swapped = LINES.with(a, LINES[b]!).with(b, LINES[a]!);
      assert.notEqual(checkLines(swapped), undefined, `lines ${a + 1} and ${b + 1}`);
    }
  }
});

Deno.test("createFileCheck() refuses what follows the end: a line, half a line, a second file", () => {
  const more = (text: string) => new Uint8Array([...FILE, ...new TextEncoder().encode(text)]);
  const next = LINES.length + 1;
  for (const text of ["\n", " ", "{}\n", smallFile()]) {
    assert.equal(checkBytes(more(text)).fault, `after_end@${next}`, JSON.stringify(text));
  }
});

/** Changes one line of the file; returns the rule and line for which it is refused. */
function change(line: number, from: string | RegExp, to: string): string | undefined {
  const old = LINES[line - 1]!;
  const changed = old.replace(from, to);
  assert.notEqual(changed, old, "the line has what is changed");
  return checkLines(LINES.with(line - 1, changed));
}

Deno.test("createFileCheck() names the line and the rule that it breaks", () => {
  assert.equal(change(1, "daybook-environment", "daybook"), "unknown_format@1");
  assert.equal(change(1, '"version":5', '"version":6'), "unknown_version@1");
  assert.equal(change(1, '"environment":"test"', '"environment":"prod"'), "record_fields@1");
  assert.equal(change(2, '"number":1', '"number":0'), "record_fields@2");
  assert.equal(change(3, '"version":1', '"version":2'), "spec_version@3");
  assert.equal(change(3, '"parts":2', '"parts":3'), "record_order@6");
  assert.equal(change(4, /.$/, ""), "not_json@4");
  assert.equal(change(5, /.*/, '["spec_part"]'), "not_an_object@5");
  assert.equal(change(5, "spec_part", "spec_parts"), "unknown_record@5");
  assert.equal(change(6, '"from":0', '"from":1'), "record_fields@6");
  assert.equal(change(7, "one", "two"), "chain_tip@9");
  assert.equal(change(7, "order:global", "order:main"), "event_key@7");
  assert.equal(change(7, '"timestamp":5', '"timestamp":"5"'), "event_form@7");
  assert.equal(change(7, '"type":"was_noted",', ""), "event_form@7");
  assert.equal(change(7, /.$/, ""), "event_form@7");
  assert.equal(change(9, '"length":2', '"length":3'), "stream_length@9");
  assert.equal(change(16, '"name":"n"', '"name":"n","secret":"s"'), "record_fields@16");
  assert.equal(change(16, '"name":"n"', '"name":"m"'), "checksum@35");
  assert.equal(change(18, '"kind":"outbox_entry"', '"kind":"entry"'), "record_fields@18");
  assert.equal(change(18, '"parts":1', '"parts":2'), "record_order@20");
  assert.equal(change(19, /.*/, '{"record":"current_spec","version":1}'), "record_order@19");
  assert.equal(change(20, '"parts":2', '"parts":1'), "work_form@21");
  assert.equal(change(27, '"version":1', '"version":2'), "blob_version@27");
  assert.equal(change(27, '"name":"logic"', '"name":"Logic"'), "record_fields@27");
  assert.equal(change(27, '"bytes":8', '"bytes":7'), "blob_form@29");
  assert.equal(change(27, '"parts":2', '"parts":1'), "blob_form@28");
  assert.equal(change(28, "AAEC", "AAED"), "blob_form@29");
  assert.equal(change(28, "AAEC", "####"), "blob_form@29");
  assert.equal(change(28, /.*/, '{"record":"current_spec","version":1}'), "record_order@28");
  assert.equal(change(30, '"version":1', '"version":2'), "blob_version@30");
  assert.equal(change(32, '"version":2', '"version":3'), "blob_version@32");
  assert.equal(change(34, '"version":1', '"version":2'), "current_spec@34");
  assert.equal(change(35, '"events":4', '"events":5'), "checksum@35");
  assert.equal(change(35, '"work":4', '"work":3'), "checksum@35");
  assert.equal(change(35, '"blobs":3', '"blobs":2'), "checksum@35");
});

/** Changes a work item, one part of which is its text; returns why the file is refused. */
function changeWork(kind: string, from: string | RegExp, to: string): string {
  const at = LINES.findIndex((line) => line.includes(`"kind":"${kind}"`));
  const text = WORK.find(([each]) => each === kind)![1];
  const changed = text.replace(from, to);
  assert.notEqual(changed, text, "the text has what is changed");
  const [, ...parts] = work(kind, changed);
  const fault = checkLines(LINES.toSpliced(at + 1, parts.length, ...parts));
  return fault!.replace(/@\d+$/, "");
}

Deno.test("createFileCheck() refuses work that the service itself would never have stored", () => {
  const forms: readonly (readonly [kind: string, from: string | RegExp, to: string])[] = [
    ["outbox_entry", /.$/, ""],
    ["outbox_entry", /.*/, "[]"],
    ["outbox_entry", '"tries":0', '"tries":8'],
    ["outbox_entry", '"tries":0', '"tries":0,"more":1'],
    ["outbox_entry", '"kind":"emit"', '"kind":"sagas"'],
    ["outbox_entry", '"id":"main"', '"id":"other"'],
    ["outbox_entry", '"depth":1', '"depth":0'],
    ["outbox_entry", '"sinceMs":5000,', ""],
    ["outbox_entry", '"index":0', '"index":-1'],
    ["scheduled_event", '"fireAtMs":6000', '"fireAtMs":"6000"'],
    ["scheduled_event", '"eventType":"was_paid"', '"eventType":"was_paid","mark":1'],
    ["scheduled_event", "order:main", "Order:main"],
    ["saga", '"state":"running"', '"state":"completed"'],
    ["saga", '"state":"running"', '"state":"waiting"'],
    ["saga", ',"timerMs":35000', ""],
    ["saga", ',"awaitsFrom":1', ""],
    ["saga", '"awaitsFrom":1', '"awaitsFrom":1,"timerTries":8'],
    ["saga", '"kind":"event"', '"kind":"write"'],
    ["saga", '"eventTypes":["was_paid"]', '"eventTypes":[]'],
    ["saga", /"triggerEvent":.*"completed"/, '"completed"'],
    ["saga", "saga_0", "saga_"],
    ["saga_definition", "was_noted", "was_notes"],
    ["saga_definition", '"event_type":"was_placed"', '"event_type":5'],
    ["saga_definition", '"saga":{', '"saga":{"more":1,'],
  ];
  for (const change of forms) assert.equal(changeWork(...change), "work_form", change.join(" "));
});

Deno.test("createFileCheck() refuses a saga that runs without its definition, and takes one that has ended", () => {
  const other = "f".repeat(64);
  assert.equal(changeWork("saga", DEFINITION_HASH, other), "saga_definition");
  const at = LINES.findIndex((line) => line.includes('"kind":"saga_definition"'));
  assert.equal(checkLines(LINES.toSpliced(at, 2)), `saga_definition@${LINES.length - 2}`);
  const ended = WORK[2]![1].replace('"running"', '"failed"').replace(/,"waiting":.*?\}/, "")
    .replace(/"triggerEvent":.*"completed"/, '"completed"')
    .replace(',"awaitsFrom":1,"timerMs":35000', "");
  const saga = LINES.findIndex((line) => line.includes('"kind":"saga"'));
  const lines = LINES.toSpliced(at, 2).with(saga + 1, work("saga", ended)[1]!);
  assert.equal(checkLines(lines), `checksum@${lines.length}`, "only the sum is wrong");
});

Deno.test("createFileCheck() refuses a piece of work beyond 8 MB, before it is kept", () => {
  const before = LINES.slice(0, 17);
  const part = `{"record":"work_part","text":"${"x".repeat(1_000_000)}"}`;
  const lines = [
    ...before,
    '{"record":"work","kind":"saga","parts":1000}',
    ...Array(12).fill(part),
  ];
  assert.equal(checkLines(lines), "work_too_large@27");
});

Deno.test("createFileCheck() refuses a spec that grows beyond 6 MB, before it is kept", () => {
  const head = LINES.slice(0, 2);
  const part = `{"record":"spec_part","text":"${"x".repeat(1_000_000)}"}`;
  const spec = LINES[2]!.replace('"parts":2', '"parts":1000');
  assert.equal(checkLines([...head, spec, ...Array(10).fill(part)]), "spec_too_large@10");
});

Deno.test("createFileCheck() refuses a line of more than a megabyte, and one that is not UTF-8", () => {
  assert.equal(checkLines([`{"record":"${"x".repeat(1024 * 1024)}"}`]), "line_too_long@1");
  assert.equal(checkBytes(new Uint8Array([0xff, 0x0a])).fault, "not_utf8@1");
  // A byte order mark is part of the text and must not be skipped silently.
  assert.equal(checkBytes(new Uint8Array([0xef, 0xbb, 0xbf, ...FILE])).fault, "not_json@1");
});
