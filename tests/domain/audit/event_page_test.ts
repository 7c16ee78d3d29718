/**
 * A page of events can be verified on its own. An oracle made the hashes. See
 * docs/reference/audit.md.
 */

import assert from "node:assert/strict";
import { type PageEntry, verifyPage } from "../../../src/domain/audit/event_page.ts";
import golden from "../../golden/audit/pages.json" with { type: "json" };

const entries: readonly PageEntry[] = golden.entries;
const STREAM = "order:global";

Deno.test("verifyPage() accepts a stream from its first event on", () => {
  const tip = entries.at(-1)!.hash;
  const expected = { ok: true, stream: STREAM, events: entries.length, tip, start: "stream" };
  assert.deepEqual(verifyPage(entries), expected);
  assert.deepEqual(verifyPage(entries, { stream: STREAM }), expected);
});

Deno.test("verifyPage() accepts every page, and says what holds its first event", () => {
  for (let from = 1; from < entries.length; from++) {
    for (let to = from + 1; to <= entries.length; to++) {
      const page = entries.slice(from, to);
      const alone = verifyPage(page);
      assert.ok(alone.ok && alone.start === "unknown");
      const held = verifyPage(page, { previous: entries[from - 1]!.hash });
      assert.ok(held.ok && held.start === "previous" && held.events === to - from);
    }
  }
});

Deno.test("verifyPage() names the first entry that does not follow from the one before", () => {
  for (const [index, entry] of entries.entries()) {
    const [previous, fault] = [index === 0 ? "00".repeat(32) : undefined, { index, ok: false }];
    const refused = (page: readonly PageEntry[]) => {
      const verdict = verifyPage(page, { previous });
      assert.deepEqual({ ok: verdict.ok, index: !verdict.ok && verdict.index }, fault);
    };
    refused(entries.with(index, { ...entry, raw: `${entry.raw} ` }));
    refused(entries.with(index, { ...entry, hash: entries[(index + 1) % 7]!.hash }));
    if (index > 0 && index < 6) refused(entries.toSpliced(index, 1));
    if (index > 0) refused(entries.toSpliced(index, 0, entries[index - 1]!));
  }
});

Deno.test("verifyPage() refuses another stream's page, mixed streams and what is no event", () => {
  const refuse = (page: readonly PageEntry[], stream?: string) => {
    const verdict = verifyPage(page, { stream });
    assert.ok(!verdict.ok);
    return verdict.message;
  };
  assert.match(refuse(entries, "order:north"), /is of order:global, not of order:north/);
  const [first] = entries as [PageEntry];
  const strange = { ...first, raw: first.raw.replace("order:global", "order:north") };
  assert.match(refuse([...entries, strange]), /is of order:north, not of order:global/);
  for (const raw of ["", "[]", "1", "{}", '{"key":1}', "{", "\ud800"]) {
    refuse([{ ...first, raw }]);
  }
  assert.match(refuse([]), /no events/);
});
