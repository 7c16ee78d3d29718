/** How files of the console and the documentation are sent: types, policy, compression, copies. */

import assert from "node:assert/strict";
import { brotliCompressSync, brotliDecompressSync } from "node:zlib";
import type { BuiltFile } from "../../../src/built_files.ts";
import { limits } from "../../../src/domain/limits.ts";
import { answerBytesHeld } from "../../../src/http/long_answer.ts";
import { scriptApp, TEST_LISTENER } from "../scripted_service.ts";

const MiB = 1024 * 1024;
const BASE = "http://127.0.0.1:8002";

function fileOf(type: string, text: string): BuiltFile {
  const brotli = new Uint8Array(brotliCompressSync(new TextEncoder().encode(text)));
  return { type, hash: "ab".repeat(32), brotli };
}

const FILES = new Map([
  ["index.html", fileOf("text/html; charset=utf-8", "<h1>console</h1>")],
  ["main.js", fileOf("text/javascript; charset=utf-8", "main()")],
  ["verify.html", fileOf("text/html; charset=utf-8", "<h1>verify</h1>")],
  ["chunk-4LPG2FXC.js", fileOf("text/javascript; charset=utf-8", "chunk()")],
]);

const HTML = "text/html; charset=utf-8";
const PAGES = new Map([
  ["index.html", fileOf(HTML, "first")],
  ["docs.css", fileOf("text/css; charset=utf-8", "body {}")],
  ["errors/index.html", fileOf(HTML, "errors")],
  ["errors/not_found.html", fileOf(HTML, "not found")],
  ["errors/not_found.md", fileOf("text/markdown; charset=utf-8", "# not found")],
  ["operate/console/home.png", fileOf("image/png", "picture")],
]);

const { app } = scriptApp({}, {
  ...TEST_LISTENER,
  readConsole: () => Promise.resolve(FILES),
  readDocs: () => Promise.resolve(PAGES),
});

function ask(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return app.fetch(new Request(`${BASE}${path}`, { headers }));
}

Deno.test("the console is sent without a credential, as the type of its file", async () => {
  for (const [path, name] of [["", "index.html"], ["main.js", "main.js"]] as const) {
    const response = await ask(`/_console/${path}`);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), FILES.get(name)!.type);
    assert.equal(
      await response.text(),
      new TextDecoder().decode(brotliDecompressSync(FILES.get(name)!.brotli)),
    );
  }
});

Deno.test("the address without its last slash leads to the one with it", async () => {
  const response = await ask("/_console");
  assert.equal(response.status, 308);
  assert.equal(response.headers.get("location"), "/_console/");
});

Deno.test("no page may load anything from elsewhere, run inline code, or show it in a frame", async () => {
  const response = await ask("/_console/");
  const policy = response.headers.get("content-security-policy")!;
  for (
    const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "img-src 'self' data:",
      "frame-ancestors 'none'",
    ]
  ) assert.ok(policy.split("; ").includes(rule), rule);
  assert.equal(response.headers.get("x-content-type-options"), "nosniff");
  assert.equal(response.headers.get("referrer-policy"), "no-referrer");
});

Deno.test("what a browser may decompress is sent compressed", async () => {
  const response = await ask("/_console/main.js", { "accept-encoding": "gzip, br" });
  assert.equal(response.headers.get("content-encoding"), "br");
  const bytes = new Uint8Array(await response.arrayBuffer());
  assert.equal(new TextDecoder().decode(brotliDecompressSync(bytes)), "main()");
});

Deno.test("a name with a hash is kept for good, every other file asked for anew under its tag", async () => {
  const hashed = await ask("/_console/chunk-4LPG2FXC.js");
  assert.equal(hashed.headers.get("cache-control"), "public, max-age=31536000, immutable");
  const main = await ask("/_console/main.js");
  assert.equal(main.headers.get("cache-control"), "no-cache");
  const again = await ask("/_console/main.js", { "if-none-match": main.headers.get("etag")! });
  assert.equal(again.status, 304);
  assert.equal(await again.text(), "");
  const changed = await ask("/_console/main.js", { "if-none-match": 'W/"cd"' });
  assert.equal(changed.status, 200);
});

Deno.test("verify.html is sent to be kept as a file, and no other file is", async () => {
  const response = await ask("/_console/verify.html");
  const disposition = response.headers.get("content-disposition");
  assert.equal(disposition, 'attachment; filename="verify.html"');
  for (const name of ["", "index.html", "main.js", "chunk-4LPG2FXC.js"]) {
    const other = await ask(`/_console/${name}`);
    assert.equal(other.headers.get("content-disposition"), null, name);
  }
});

Deno.test("a file that the console does not have is 404", async () => {
  for (const name of ["other.js", "..%2fmain.ts", "manifest.json", "index.html.br"]) {
    const response = await ask(`/_console/${name}`);
    assert.equal(response.status, 404, name);
    assert.equal((await response.json()).error, "The console has no such file");
  }
});

Deno.test("the documentation has its pages in folders; an address may leave out their ending", async () => {
  const rows = [
    ["", "first"],
    ["docs.css", "body {}"],
    ["errors/", "errors"],
    ["errors/not_found", "not found"],
    ["errors/not_found.html", "not found"],
    ["errors/not_found.md", "# not found"],
    ["operate/console/home.png", "picture"],
  ] as const;
  for (const [path, text] of rows) {
    const response = await ask(`/_docs/${path}`);
    assert.equal(response.status, 200, path);
    assert.equal(await response.text(), text, path);
    assert.match(response.headers.get("content-security-policy")!, /^default-src 'none';/);
  }
  assert.equal((await ask("/_docs")).headers.get("location"), "/_docs/");
  const tag = (await ask("/_docs/errors/not_found")).headers.get("etag")!;
  const again = await ask("/_docs/errors/not_found", { "if-none-match": tag });
  assert.equal(again.status, 304);
});

Deno.test("nothing but the pages is sent of the documentation's folder", async () => {
  const names = [
    "manifest.json",
    "index.html.br",
    "..%2fmain.ts",
    "errors",
    "errors/..%2findex.html",
    "errors/..%2f..%2fmain.ts",
    "operate/..%2f..%2f/passwd",
    "%00",
    "a/b/c/d",
  ];
  for (const name of names) assert.equal((await ask(`/_docs/${name}`)).status, 404, name);
});

Deno.test("a long file is counted until its client has taken it, and too many are refused", async () => {
  const files = new Map([["long.js", fileOf("text/javascript", "x".repeat(MiB))]]);
  const readDocs = () => Promise.resolve(files);
  const { app } = scriptApp({}, { ...TEST_LISTENER, readDocs });
  const long = new Request(`${BASE}/_docs/long.js`);
  const answers: Response[] = [];
  // Clients without a credential share what one instance may have.
  for (let held = 0; held <= limits.answersBytesMax / 4; held += MiB) {
    assert.equal(answerBytesHeld(), held);
    answers.push(await app.fetch(long));
  }
  const refused = answers.pop()!;
  assert.deepEqual([refused.status, (await refused.json()).error_type], [503, "unavailable"]);
  const [first, ...others] = answers;
  assert.equal(first!.headers.get("content-length"), String(MiB));
  assert.equal(first!.headers.get("content-type"), "text/javascript");
  assert.equal(await first!.text(), "x".repeat(MiB));
  for (const { body } of others) await body!.cancel();
  assert.equal(answerBytesHeld(), 0);
});

Deno.test("a file that is long with brotli is counted as it is sent", async () => {
  // Hex digits of random bytes compress to half at best.
  const texts = [1, 2, 3].map(() => crypto.getRandomValues(new Uint8Array(50_000)).toHex());
  const text = texts.join("");
  const file = fileOf("text/javascript", text);
  const readDocs = () => Promise.resolve(new Map([["long.js", file]]));
  const { app } = scriptApp({}, { ...TEST_LISTENER, readDocs });
  const headers = { "accept-encoding": "br" };
  const response = await app.fetch(new Request(`${BASE}/_docs/long.js`, { headers }));
  assert.equal(answerBytesHeld(), file.brotli.length);
  assert.equal(brotliDecompressSync(await response.bytes()).toString(), text);
  assert.equal(answerBytesHeld(), 0);
});

Deno.test("a file is decompressed once for all who do not take it compressed", async () => {
  const { brotli, ...file } = fileOf("text/javascript", "x".repeat(1_000));
  let reads = 0;
  const counted = {
    ...file,
    get brotli() {
      reads++;
      return brotli;
    },
  };
  const readDocs = () => Promise.resolve(new Map([["short.js", counted]]));
  const { app } = scriptApp({}, { ...TEST_LISTENER, readDocs });
  const asked = Array.from({ length: 5 }, () => app.fetch(new Request(`${BASE}/_docs/short.js`)));
  for (const response of await Promise.all(asked)) {
    assert.equal(await response.text(), "x".repeat(1_000));
  }
  assert.equal(reads, 1);
});

Deno.test("a server without the built documentation says how to build it", async () => {
  const { app } = scriptApp({}, TEST_LISTENER);
  const response = await app.fetch(new Request(`${BASE}/_docs/errors/not_found`));
  assert.equal(response.status, 404);
  assert.match((await response.json()).error, /not built.*deno task docs/);
});

Deno.test("a server without the built console says how to build it", async () => {
  for (const readConsole of [undefined, () => Promise.resolve(undefined)]) {
    const { app } = scriptApp({}, { ...TEST_LISTENER, readConsole });
    const response = await app.fetch(new Request(`${BASE}/_console/`));
    assert.equal(response.status, 404);
    assert.match((await response.json()).error, /not built.*deno task console/);
  }
});
