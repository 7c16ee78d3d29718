/** `verify` and `scripts/verify_bundle.ts` as people use them: exit codes and printed text. */

import assert from "node:assert/strict";
import bundles from "../golden/audit/bundles.json" with { type: "json" };
import receipts from "../golden/audit/receipts.json" with { type: "json" };
import pages from "../golden/audit/pages.json" with { type: "json" };

const ROOT = new URL("../../", import.meta.url);
const EXPORT = new URL("../golden/transfer/version_1.jsonl", import.meta.url);
const STANDALONE = "scripts/verify_bundle.ts";
/** The standalone verifier gets only the permission to read. */
const VERIFIERS = [
  { name: "main.ts verify", args: ["run", "-A", "main.ts", "verify"] },
  { name: STANDALONE, args: ["run", "--no-prompt", "--allow-read", STANDALONE] },
] as const;

const { bundle } = bundles.valid.find(({ name }) => name === "last of 70 events")!;
const KEY = bundle.anchor.public_key;

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a verifier on a file with that text. */
async function run(
  verifier: typeof VERIFIERS[number],
  text: string,
  options: readonly string[] = [],
): Promise<Ran> {
  const path = await Deno.makeTempFile({ prefix: "daybook_verify_" });
  try {
    await Deno.writeTextFile(path, text);
    return await runOn(verifier, [path, ...options]);
  } finally {
    await Deno.remove(path);
  }
}

async function runOn({ args }: typeof VERIFIERS[number], more: readonly string[]): Promise<Ran> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args, ...more],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

function withValue(path: readonly string[], value: unknown): string {
  const copy = structuredClone(bundle) as Record<string, unknown>;
  const owner = path.slice(0, -1).reduce((part, name) => part[name] as typeof part, copy);
  owner[path.at(-1)!] = value;
  return JSON.stringify(copy);
}

for (const verifier of VERIFIERS) {
  Deno.test(`${verifier.name} says what a bundle proves, and whose key it took`, async () => {
    const text = JSON.stringify(bundle, undefined, 2);
    const loose = await run(verifier, text);
    assert.equal(loose.code, 0, loose.stderr);
    assert.match(loose.stdout, /^VALID: event 69 of order:north, anchored on 2026-03-04T/i);
    assert.ok(loose.stdout.includes(`bundle's own (${KEY})`));
    const pinned = await run(verifier, text, [
      "--key",
      KEY,
      "--stream",
      "order:north",
      "--index",
      "69",
    ]);
    assert.equal(pinned.code, 0);
    assert.doesNotMatch(pinned.stdout, /bundle's own/);
  });

  Deno.test(`${verifier.name} refuses another key, stream or index, with 1 and the step`, async () => {
    const text = JSON.stringify(bundle);
    for (
      const [option, value, reason] of [
        ["--key", "2".repeat(64), /signature.*signed with/],
        ["--stream", "order:south", /event.*order:north, expected was order:south/],
        ["--index", "68", /counts.*number 69, expected was 68/],
      ] as const
    ) {
      const { code, stderr, stdout } = await run(verifier, text, [option, value]);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, reason);
      assert.match(stderr, /^NOT VALID: step/);
    }
  });

  Deno.test(`${verifier.name} names the step that a changed bundle fails`, async () => {
    const cases = [
      [withValue(["event", "hash"], "x"), /form.*event\.hash must be 64 lowercase hex/],
      [withValue(["event", "prev_hash"], "0".repeat(64)), /chain/],
      [withValue(["stream", "merkle_root"], "0".repeat(64)), /stream_proof/],
      [withValue(["anchor", "merkle_root"], "0".repeat(64)), /instance_proof/],
      [withValue(["anchor", "created_at"], "2026-03-04T05:06:08.000Z"), /signature/],
      ["{", /not JSON/],
    ] as const;
    for (const [text, reason] of cases) {
      const { code, stderr } = await run(verifier, text);
      assert.equal(code, 1);
      assert.match(stderr, reason);
    }
  });

  Deno.test(`${verifier.name} checks a page of events, and says what holds its first`, async () => {
    const listing = (data: unknown) => JSON.stringify({ ok: true, data, count_limit: 500 });
    const whole = await run(verifier, listing(pages.entries), ["--stream", "order:global"]);
    assert.equal(whole.code, 0, whole.stderr);
    assert.match(whole.stdout, /VALID: 7 events of order:global/);
    assert.doesNotMatch(whole.stdout, /--previous/);
    const page = pages.entries.slice(3);
    const loose = await run(verifier, listing(page));
    assert.match(loose.stdout, /Nothing holds the first.*--previous/);
    const held = await run(verifier, listing(page), ["--previous", pages.entries[2]!.hash]);
    assert.equal(held.code, 0);
    assert.doesNotMatch(held.stdout, /Nothing holds/);
    const broken = await run(verifier, listing(pages.entries.toSpliced(4, 1)));
    assert.equal(broken.code, 1);
    assert.match(broken.stderr, /entry 4/);
    const decoded = await run(verifier, listing([{ id: "0", hash: KEY, event: {} }]));
    assert.equal(decoded.code, 1);
    assert.match(decoded.stderr, /raw=true/);
  });

  Deno.test(`${verifier.name} checks the receipt of an erasure, by itself and as it was answered`, async () => {
    for (const { fields, signature } of receipts.receipts) {
      const receipt = { format: 1, scope: "erasure", ...fields, signature, public_key: KEY };
      const loose = await run(verifier, JSON.stringify(receipt));
      assert.equal(loose.code, 0, loose.stderr);
      assert.match(loose.stdout, /VALID: 10000 events of person:5b3e.* were erased on 2026-03-04T/);
      assert.ok(loose.stdout.includes(`receipt's own (${KEY})`));
      const answer = JSON.stringify({ ok: true, tombstone: { id: fields.tombstone_id, receipt } });
      const pinned = await run(verifier, answer, ["--key", KEY, "--stream", fields.key]);
      assert.equal(pinned.code, 0, pinned.stderr);
      assert.doesNotMatch(pinned.stdout, /receipt's own/);
      const cases = [
        [{ ...receipt, event_count: 9_999 }, [], /signature/],
        [{ ...receipt, reason: "another" }, [], /signature/],
        [{ ...receipt, format: 2 }, [], /form/],
        [{ ...receipt, tip: "x" }, [], /form.*tip/],
        [receipt, ["--key", "2".repeat(64)], /signed with/],
        [receipt, ["--stream", "person:global"], /is of person:5b3e/],
      ] as const;
      for (const [document, options, reason] of cases) {
        const { code, stderr, stdout } = await run(verifier, JSON.stringify(document), options);
        assert.deepEqual([code, stdout], [1, ""]);
        assert.match(stderr, reason);
      }
      assert.equal((await run(verifier, answer, ["--index", "1"])).code, 2);
    }
  });

  Deno.test(`${verifier.name} checks a whole export, and names the line that is wrong`, async () => {
    const text = await Deno.readTextFile(EXPORT);
    const whole = await run(verifier, text);
    assert.equal(whole.code, 0, whole.stderr);
    assert.match(whole.stdout, /VALID: 5 events in 4 streams/);
    const lines = text.split("\n");
    const event = lines.findIndex((line) => line.startsWith('{"key":'));
    const spaced = lines.with(event, lines[event]!.replace('"data":', '"data": ')).join("\n");
    const tip = lines.findIndex((line) => line.startsWith('{"record":"tip"'));
    const cases = [
      [spaced, new RegExp(`line ${tip + 1}\\b`)],
      [lines.toSpliced(event, 1).join("\n"), /line \d+/],
      [text.slice(0, -1), /cut off/],
      [lines.slice(0, -2).join("\n") + "\n", /cut off/],
      [`${text}{}\n`, /end/],
      [text.replace(/"events":5/, '"events":6'), new RegExp(`line ${lines.length - 1}\\b`)],
    ] as const;
    for (const [changed, reason] of cases) {
      const { code, stderr } = await run(verifier, changed);
      assert.equal(code, 1, stderr);
      assert.match(stderr, reason);
    }
  });

  Deno.test(`${verifier.name} does not pass over an option that it cannot hold a file against`, async () => {
    const text = await Deno.readTextFile(EXPORT);
    const misused = await run(verifier, text, ["--key", KEY]);
    assert.equal(misused.code, 2);
    assert.match(misused.stderr, /--key cannot be checked in this kind of file/);
    for (
      const options of [["--key", "abc"], ["--key", "0".repeat(64)], ["--index", "-1"], [
        "--index=1.5",
      ]]
    ) {
      const { code } = await run(verifier, JSON.stringify(bundle), options);
      assert.equal(code, 2, options.join(" "));
    }
    const absent = await runOn(verifier, ["/nonexistent/bundle.json"]);
    assert.equal(absent.code, 1);
    assert.match(absent.stderr, /No such file|ENOENT/i);
  });
}

Deno.test("the standalone verifier imports nothing but what the runtime has", async () => {
  const source = await Deno.readTextFile(new URL(STANDALONE, ROOT));
  const imported = [...source.matchAll(/\bfrom "([^"]+)"|\bimport\(/g)].map(([, name]) => name);
  assert.deepEqual(imported.filter((name) => !name?.startsWith("node:")), []);
  assert.ok(imported.length > 0 && !/\bfetch\b|Deno\.connect/.test(source));
});
