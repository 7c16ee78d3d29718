/** Parts of a form by RFC 7578, parsed in time that grows only with the bytes. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";
import { formPartsSteps } from "../../../src/http/operators/multipart.ts";

const TYPE = "multipart/form-data; boundary=XX";
const encoder = new TextEncoder();
const decoder = new TextDecoder();

function parseFormParts(bytes: Uint8Array<ArrayBuffer>, type: string) {
  return runAtOnce(formPartsSteps(bytes, type));
}

function parse(text: string, type = TYPE) {
  return parseFormParts(encoder.encode(text), type)?.map(({ name, isFile, content }) => ({
    name,
    isFile,
    text: decoder.decode(content),
  }));
}

function part(name: string, text: string): string {
  return `--XX\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
}

Deno.test("a form that the platform makes has the parts that were put in", async () => {
  const text = fc.string({ unit: "binary", maxLength: 50 });
  await fc.assert(
    fc.asyncProperty(text, fc.uint8Array({ maxLength: 300 }), async (name, bytes) => {
      const form = new FormData();
      form.set("name", name);
      form.set("file", new Blob([new Uint8Array(bytes)]), "module.wasm");
      const request = new Response(form);
      const type = request.headers.get("content-type")!;
      const parts = parseFormParts(await request.bytes(), type)!;
      assert.deepEqual(parts.map((each) => [each.name, each.isFile]), [
        ["name", false],
        ["file", true],
      ]);
      assert.deepEqual([...parts[1]!.content], [...bytes]);
      // The platform writes line ends of a text as CR LF.
      const sent = name.replaceAll(/\r\n|\r|\n/g, "\r\n").toWellFormed();
      assert.equal(decoder.decode(parts[0]!.content), sent);
    }),
  );
});

Deno.test("empty parts, a preamble and an epilogue are as RFC 2046 has them", () => {
  const parts = parse(`before\r\n${part("a", "")}${part("b", "x")}--XX--\r\nafter`);
  assert.deepEqual(parts, [
    { name: "a", isFile: false, text: "" },
    { name: "b", isFile: false, text: "x" },
  ]);
});

Deno.test("a boundary may be quoted; what only resembles it is content", () => {
  const text = part("a", "\r\n--X\r\n-XX\r\n--xx") + "--XX--";
  for (const type of [TYPE, 'multipart/form-data; boundary="XX"', `${TYPE}; charset=utf-8`]) {
    assert.equal(parse(text, type)?.[0]?.text, "\r\n--X\r\n-XX\r\n--xx");
  }
});

Deno.test("a boundary is found wherever the search may rest", () => {
  // Places each byte of the boundary at the end of a search window once.
  for (let length = 131_000; length < 131_080; length++) {
    const text = "a".repeat(length);
    assert.deepEqual(parse(part("a", text) + part("b", "x") + "--XX--")?.map((each) => each.text), [
      text,
      "x",
    ]);
  }
});

Deno.test("the search rests many times in a body of 4 MiB", () => {
  const body = encoder.encode(part("a", "x".repeat(4 * 1024 * 1024)) + "--XX--");
  assert.ok([...formPartsSteps(body, TYPE)].length >= 30);
});

const BROKEN: Readonly<Record<string, string>> = {
  "without an end": part("a", "x"),
  "without a boundary": "x",
  "without a blank line": '--XX\r\nContent-Disposition: form-data; name="a"\r\n--XX--',
  "without a name": "--XX\r\nContent-Disposition: form-data\r\n\r\nx\r\n--XX--",
  "with a part of another kind": '--XX\r\nContent-Disposition: inline; name="a"\r\n\r\nx\r\n--XX--',
  "with 17 parts": part("a", "x").repeat(17) + "--XX--",
  "with a head of 9,000 bytes": `--XX\r\nA: ${"b".repeat(9_000)}\r\n${
    part("a", "").slice(6)
  }--XX--`,
};

for (const [name, text] of Object.entries(BROKEN)) {
  Deno.test(`a form ${name} is none`, () => assert.equal(parse(text), undefined));
}

Deno.test("a form needs a boundary of 1 to 70 characters in its type", () => {
  const text = part("a", "x") + "--XX--";
  for (const type of ["multipart/form-data", "multipart/form-data; boundary="]) {
    assert.equal(parse(text, type), undefined);
  }
  assert.equal(parse(text, `multipart/form-data; boundary=${"X".repeat(71)}`), undefined);
});

Deno.test("4 MiB of anything take less than a second", () => {
  const size = 4 * 1024 * 1024;
  const hostile = [part("a", "x"), "\r\n--X", "\r\n\r\n", "\r\n--XX", "--XX\r\n", "A: b\r\n", "\0"];
  for (const text of hostile) {
    const began = performance.now();
    parse(text.repeat(size / text.length));
    parse(part("a", text.replaceAll("XX", "XY").repeat(size / text.length)) + "--XX--");
    assert.ok(performance.now() - began < 2_000, JSON.stringify(text));
  }
});
