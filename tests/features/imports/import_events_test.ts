/**
 * Imports check every line like a write and keep the order within a stream. A rerun with the
 * same `import_id` resumes without duplicates, whatever ended the first run. See
 * docs/reference/imports.md.
 */

import assert from "node:assert/strict";
import type { ImportForm } from "../../../src/domain/import/progress.ts";
import { COMMIT_FAULTS, faultyEngine } from "../../support/faulty_engine.ts";
import {
  expectedStreams,
  fileOf,
  importRequest,
  lineOf,
  makeLines,
  piecesOf,
  storedStreams,
} from "../../support/import_fixtures.ts";
import { noteWrite, uuid, valueOf, withService } from "../../support/service_fixture.ts";

/** Several transactions' worth: an import stores about a million bytes at a time. */
const LINES = makeLines({ events: 120, streams: 11, padding: 40_000 });
const FILE = fileOf(LINES);
const FORMS: readonly ImportForm[] = ["import_jsonl", "cold_start"];

for (const form of [...FORMS, "import" as const]) {
  Deno.test(`${form}: all lines are stored in the order of the file, as events of their time`, async () => {
    await withService(async ({ service, tenants: { production } }) => {
      const outcome = await service.imports.run(production, importRequest(FILE, { form }));
      assert.ok(outcome.ok, JSON.stringify(outcome));
      const { written, record } = outcome.progress;
      assert.deepEqual(
        [written, record.written, record.lines, record.place.bytes, record.isComplete],
        [120, 120, 120, new TextEncoder().encode(FILE).length, true],
      );
      assert.deepEqual(await storedStreams(service, production), expectedStreams(LINES));
      const first = JSON.parse(LINES[0]!);
      const stream = expectedStreams(LINES).get(first.key)!;
      const read = { aggregateType: "order", id: uuid(0), synchronous: true };
      const view = valueOf(await service.data.readAggregate(production, read));
      const times = stream.map((raw) => JSON.parse(raw).metadata.timestamp);
      assert.deepEqual([view.createdAt, view.updatedAt], [times[0], times.at(-1)]);
    });
  });

  Deno.test(`${form}: the same file again writes nothing and answers what there is`, async () => {
    await withService(async ({ service, tenants: { test } }) => {
      await service.imports.run(test, importRequest(FILE, { form }));
      const again = await service.imports.run(test, importRequest(FILE, { form }));
      assert.ok(again.ok);
      assert.deepEqual([again.progress.written, again.progress.record.written], [0, 120]);
      assert.deepEqual(await storedStreams(service, test), expectedStreams(LINES));
    });
  });
}

Deno.test("a body cut at any byte leaves whole lines, and the whole file completes it", async () => {
  const bytes = new TextEncoder().encode(FILE).length;
  await withService(async ({ service, tenants: { test } }) => {
    for (let number = 0; number < 8; number++) {
      const file = fileOf(LINES.map((line) => line.replace("order:5b3e", `order:5b3${number}`)));
      const cutAt = Math.floor(bytes * (number + 1) / 9) + number * 13;
      const change = { form: "import_jsonl" as const, importId: `cut-${number}` };
      const cut = await service.imports.run(test, importRequest(file, { ...change, cutAt }));
      assert.ok(!cut.ok && cut.refusal.kind === "bad_request" && cut.line === undefined);
      const before = cut.progress!.record.written;
      const whole = file.slice(0, cutAt);
      // Two-byte characters come before the cut, so there may be fewer lines than this.
      assert.ok(before <= whole.split("\n").length - 1 && before > 0, String(before));
      const rest = await service.imports.run(test, importRequest(file, change));
      assert.ok(rest.ok);
      assert.deepEqual([rest.progress.written, rest.progress.record.written], [
        120 - before,
        120,
      ]);
    }
    for (const events of (await storedStreams(service, test)).values()) {
      const numbers = events.map((raw) => JSON.parse(raw).data.n);
      assert.deepEqual(numbers, numbers.toSorted((one, other) => one - other));
      assert.equal(new Set(numbers).size, numbers.length);
    }
  });
});

for (const form of FORMS) {
  for (const { name, fault } of COMMIT_FAULTS) {
    Deno.test(`${form}: at each of its commits, when ${name}, a rerun leaves every event once`, async () => {
      for (let commit = 0; commit < 7; commit++) {
        let from = Infinity;
        let seen = 0;
        const wrap = (engine: Parameters<typeof faultyEngine>[0]) =>
          faultyEngine(engine, () => seen++ === from ? fault : undefined);
        await withService(async ({ service, tenants: { test } }) => {
          from = seen + commit;
          let outcome = await service.imports.run(test, importRequest(FILE, { form })).catch(
            (error: Error) => error,
          );
          if (outcome instanceof Error) {
            assert.equal(outcome.name, "EngineUnavailable");
            outcome = await service.imports.run(test, importRequest(FILE, { form }));
          }
          assert.ok("ok" in outcome && outcome.ok, JSON.stringify(outcome));
          assert.equal(outcome.progress.record.written, 120);
          assert.deepEqual(await storedStreams(service, test), expectedStreams(LINES));
        }, { wrap });
      }
    });
  }

  Deno.test(`${form}: the first line that is refused is named, those before it are stored, and the mended file goes on`, async () => {
    await withService(async ({ service, tenants: { test } }) => {
      const broken = [...LINES];
      broken[97] = LINES[97]!.replace("was_viewed", "was_eaten");
      const refused = await service.imports.run(test, importRequest(fileOf(broken), { form }));
      assert.ok(!refused.ok);
      assert.deepEqual([refused.line, refused.refusal.kind], [98, "event_type_unknown"]);
      assert.equal(refused.progress!.record.written, 97);
      assert.deepEqual(await storedStreams(service, test), expectedStreams(LINES.slice(0, 97)));
      const mended = await service.imports.run(test, importRequest(FILE, { form }));
      assert.ok(mended.ok);
      assert.equal(mended.progress.written, 23);
      assert.deepEqual(await storedStreams(service, test), expectedStreams(LINES));
    });
  });

  Deno.test(`${form}: another file under the same import_id is refused and writes nothing`, async () => {
    await withService(async ({ service, tenants: { test } }) => {
      await service.imports.run(test, importRequest(FILE, { form, cutAt: 3_000_000 }));
      const before = await storedStreams(service, test);
      const others = [
        FILE.replace('"n":3,', '"n":4,'),
        fileOf(LINES.slice(0, 3)),
        `\n${FILE}`,
      ];
      for (const other of others) {
        const refused = await service.imports.run(test, importRequest(other, { form }));
        assert.ok(!refused.ok && refused.refusal.kind === "import_conflict");
        assert.equal(refused.refusal.reason, "other_file");
      }
      assert.deepEqual(await storedStreams(service, test), before);
      assert.ok((await service.imports.run(test, importRequest(FILE, { form }))).ok);
      const longer = await service.imports.run(test, importRequest(`${FILE}\n`, { form }));
      assert.ok(!longer.ok && longer.refusal.kind === "import_conflict");
    });
  });
}

Deno.test("import: where one event is refused nothing is written, not even those before it", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const broken = fileOf([...LINES.slice(0, 110), '{"key":3}']);
    const request = importRequest(broken, { form: "import" });
    const refused = await service.imports.run(test, request);
    assert.ok(!refused.ok);
    assert.deepEqual([refused.line, refused.progress], [111, undefined]);
    assert.equal((await storedStreams(service, test)).size, 0);
    assert.ok((await service.imports.run(test, importRequest(FILE, { form: "import" }))).ok);
  });
});

Deno.test("an import_id is that of one kind of import in one environment", async () => {
  await withService(async ({ service, tenants: { test, staging } }) => {
    assert.ok((await service.imports.run(test, importRequest(FILE))).ok);
    const other = await service.imports.run(test, importRequest(FILE, { form: "import" }));
    assert.ok(!other.ok && other.refusal.kind === "import_conflict");
    assert.equal(other.refusal.reason, "other_form");
    const elsewhere = await service.imports.run(staging, importRequest(FILE));
    assert.ok(elsewhere.ok && elsewhere.progress.written === 120);
  });
});

Deno.test("a cold start is refused where there is an event, and goes on with its own", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const form = "cold_start";
    await service.imports.run(test, importRequest(FILE, { form, cutAt: 2_000_000 }));
    assert.ok((await storedStreams(service, test)).size > 0);
    const second = importRequest(FILE, { form, importId: "load-2" });
    const refused = await service.imports.run(test, second);
    assert.ok(!refused.ok && refused.refusal.kind === "import_conflict");
    assert.equal(refused.refusal.reason, "not_empty");
    assert.ok((await service.imports.run(test, importRequest(FILE, { form }))).ok);
    assert.deepEqual(await storedStreams(service, test), expectedStreams(LINES));
  });
});

Deno.test("writes between the lines of an import are kept, each in one order with it", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const importing = service.imports.run(test, importRequest(FILE));
    const writes = Array.from(
      { length: 60 },
      (_, number) => service.data.writeEvents(test, noteWrite(uuid(number % 11), `w${number}`)),
    );
    const outcomes = await Promise.all(writes);
    assert.ok(outcomes.every(({ ok }) => ok));
    assert.ok((await importing).ok);
    const imported = new Map<string, string[]>();
    let written = 0;
    for (const [key, events] of await storedStreams(service, test)) {
      const isImported = (raw: string) => raw.includes("was_viewed");
      imported.set(key, events.filter(isImported));
      written += events.filter((raw) => !isImported(raw)).length;
    }
    assert.deepEqual(imported, expectedStreams(LINES));
    assert.equal(written, 60);
  });
});

Deno.test("two imports at once into the same streams both keep their order", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const other = LINES.map((line) => line.replace('"n":', '"m":'));
    const outcomes = await Promise.all([
      service.imports.run(test, importRequest(FILE)),
      service.imports.run(test, importRequest(fileOf(other), { importId: "load-2" })),
    ]);
    assert.ok(outcomes.every(({ ok }) => ok));
    const parts: Record<"n" | "m", Map<string, string[]>> = { n: new Map(), m: new Map() };
    for (const [key, events] of await storedStreams(service, test)) {
      parts.n.set(key, events.filter((raw) => raw.includes('"n":')));
      parts.m.set(key, events.filter((raw) => raw.includes('"m":')));
    }
    assert.deepEqual(parts, { n: expectedStreams(LINES), m: expectedStreams(other) });
  });
});

Deno.test("a later request takes an import over, and the earlier one stops: no event is there twice", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const held = Promise.withResolvers<void>();
    async function* slowly() {
      let number = 0;
      for await (const piece of piecesOf(FILE)) {
        yield piece;
        if (++number === 40) await held.promise;
      }
    }
    const first = service.imports.run(test, importRequest(FILE, { pieces: slowly }));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const second = await service.imports.run(test, importRequest(FILE));
    assert.ok(second.ok);
    held.resolve();
    const outcome = await first;
    assert.ok(!outcome.ok && outcome.refusal.kind === "import_conflict");
    assert.equal(outcome.refusal.reason, "taken_over");
    assert.deepEqual(await storedStreams(service, test), expectedStreams(LINES));
  });
});

Deno.test("a server that stops ends an import with what it has taken in, and refuses new ones", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    async function* stopping() {
      let number = 0;
      for await (const piece of piecesOf(FILE)) {
        yield piece;
        if (++number === 40) service.imports.stop();
      }
    }
    const stopped = await service.imports.run(test, importRequest(FILE, { pieces: stopping }));
    assert.ok(!stopped.ok);
    assert.deepEqual(stopped.refusal.kind, "import_unavailable");
    const { written } = stopped.progress!.record;
    assert.ok(written > 0 && written < 120);
    const stored = await storedStreams(service, test);
    assert.deepEqual(stored, expectedStreams(LINES.slice(0, written)));
    const next = await service.imports.run(test, importRequest(FILE));
    assert.ok(!next.ok && next.refusal.kind === "import_unavailable");
  });
});

Deno.test("at most four imports run at a time; the next may be sent later", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const held = Promise.withResolvers<void>();
    async function* waiting() {
      await held.promise;
      yield* piecesOf(fileOf([lineOf(1, {})]));
    }
    const running = [1, 2, 3, 4].map((number) =>
      service.imports.run(test, importRequest("", { pieces: waiting, importId: `load-${number}` }))
    );
    const fifth = await service.imports.run(test, importRequest(FILE));
    assert.ok(!fifth.ok && fifth.refusal.kind === "import_unavailable");
    held.resolve();
    assert.ok((await Promise.all(running)).every(({ ok }) => ok));
    assert.ok((await service.imports.run(test, importRequest(FILE, { importId: "load-5" }))).ok);
  });
});

Deno.test("lines without anything on them are passed over, and the last may go without its end", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const lines = LINES.slice(0, 3);
    const file = `\n${lines[0]}\r\n  \n\n${lines[1]}\n${lines[2]}`;
    const outcome = await service.imports.run(test, importRequest(file));
    assert.ok(outcome.ok);
    assert.deepEqual([outcome.progress.written, outcome.progress.record.lines], [3, 6]);
    assert.deepEqual(await storedStreams(service, test), expectedStreams(lines));
  });
});

Deno.test("a file without a byte is refused and leaves no import", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const empty = await service.imports.run(test, importRequest(""));
    assert.ok(!empty.ok && empty.refusal.kind === "bad_request");
    assert.deepEqual(valueOf(await service.imports.list(test, {})).data, []);
  });
});
