/** Pages of events: chained by Python, cut and changed anywhere; with the server's verdict. */

import assert from "node:assert/strict";
import { type PageOptions, verifyPage } from "../../../sdk/src/verify/mod.ts";
import {
  type PageEntry,
  verifyPage as serverVerdict,
} from "../../../src/domain/audit/attestation.ts";
import golden from "../../golden/audit/pages.json" with { type: "json" };

const entries: readonly PageEntry[] = golden.entries;
const STREAM = "order:global";

function agree(page: readonly PageEntry[], options: PageOptions = {}): void {
  const verdict = verifyPage(page, options);
  const server = serverVerdict(page, options);
  assert.equal(verdict.ok, server.ok, JSON.stringify(verdict));
  if (verdict.ok && server.ok) assert.deepEqual({ ok: true, ...verdict.page }, server);
  if (!verdict.ok && !server.ok && page.length > 0) assert.equal(verdict.index, server.index);
}

Deno.test("verifyPage() accepts a stream from its first event on: parsed, as text and as bytes", () => {
  const tip = entries.at(-1)!.hash;
  const page = { stream: STREAM, events: entries.length, tip, start: "stream" };
  const answer = { ok: true, data: entries, limit: 500 };
  const text = JSON.stringify(answer);
  for (const form of [entries, answer, text, new TextEncoder().encode(text)]) {
    assert.deepEqual(verifyPage(form, { stream: STREAM }), { ok: true, page });
  }
});

Deno.test("verifyPage() gives the server's verdict on every page, and on every changed one", () => {
  for (let from = 0; from < entries.length; from++) {
    for (let to = from; to <= entries.length; to++) {
      const page = entries.slice(from, to);
      const previous = entries[from - 1]?.hash;
      const others = [undefined, previous, "00".repeat(32)];
      for (const one of others) agree(page, one === undefined ? {} : { previous: one });
      agree(page, { stream: STREAM });
      agree(page, { stream: "order:north" });
      for (const at of page.keys()) {
        const entry = page[at]!;
        for (const options of previous === undefined ? [{}] : [{}, { previous }]) {
          agree(page.with(at, { ...entry, raw: `${entry.raw} ` }), options);
          agree(page.with(at, { ...entry, hash: entries[(at + 3) % 7]!.hash }), options);
          agree(page.toSpliced(at, 1), options);
          agree(page.toSpliced(at, 0, entry), options);
          for (const raw of ["", "[]", "1", "{}", '{"key":1}', "{", "\ud800"]) {
            const changed = verifyPage(page.with(at, { ...entry, raw }), options);
            assert.ok(!changed.ok && changed.index === at);
          }
        }
      }
    }
  }
});

Deno.test("verifyPage() says what holds the first event", () => {
  const later = entries.slice(3);
  const alone = verifyPage(later);
  assert.ok(alone.ok && alone.page.start === "unknown");
  const held = verifyPage(later, { previous: entries[2]!.hash });
  assert.ok(held.ok && held.page.start === "previous" && held.page.events === 4);
});

Deno.test("verifyPage() refuses by its form what is no page, and an entry without its raw text", () => {
  const { raw: _, ...without } = entries[0]!;
  const cases = ["", "{", {}, { data: {} }, { data: [] }, null, 5, [without], [null], [[]]];
  const upper = [{ ...entries[0]!, hash: entries[0]!.hash.toUpperCase() }];
  for (const page of [...cases, upper]) {
    const verdict = verifyPage(page);
    assert.equal(!verdict.ok && verdict.step, "form", JSON.stringify(page));
  }
  const verdict = verifyPage(entries, { previous: "not a hash" });
  assert.equal(!verdict.ok && verdict.step, "form");
});
