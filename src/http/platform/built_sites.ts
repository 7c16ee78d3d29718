/**
 * `/_console/` and `/_docs/`: the files of the console and of the documentation, for anybody. They
 * hold no data: what a page shows of it, it asks for with the key or token of its user. See
 * docs/operate/console.md.
 */

import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import type { BuiltFile } from "../../built_files.ts";
import type { Refusal } from "../../domain/refusal.ts";
import type { AppOptions, Call, Edge, Route } from "../call.ts";
import { open } from "../endpoint.ts";
import { LONG_ANSWER_BYTES_MIN, longAnswer } from "../long_answer.ts";
import { sendRefusal } from "../reply.ts";

const INDEX = "index.html";
/** What is kept as a file and opened from the disk, never shown as a page of this origin. */
const DOWNLOADS: ReadonlySet<string> = new Set(["verify.html"]);
/** Names with a hash of their content: what has such a name never changes. */
const HASHED = /-[0-9A-Z]{8}\.js$/;

/** Nothing from elsewhere, nothing inline, no frame around it. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

interface Site {
  /** In messages, as the subject of a sentence. */
  readonly name: string;
  readonly task: string;
  readonly files: (options: AppOptions) => AppOptions["readConsole"];
}

const CONSOLE: Site = {
  name: "The console",
  task: "deno task console",
  files: ({ readConsole }) => readConsole,
};
const DOCS: Site = {
  name: "The documentation",
  task: "deno task docs",
  files: ({ readDocs }) => readDocs,
};

export const redirectConsole: Route = redirect("redirectConsole", CONSOLE, "/_console/");
export const sendConsole: Route = page("readConsole", "The console, for a browser", CONSOLE);
export const sendConsoleFile: Route = page(
  "readConsoleFile",
  "A file of the console: code, styles, a picture",
  CONSOLE,
);
export const redirectDocs: Route = redirect("redirectDocs", DOCS, "/_docs/");
export const sendDocs: Route = page("readDocs", "The documentation of this version", DOCS);
export const sendDocsFile: Route = page(
  "readDocsFile",
  "A page of the documentation, or a file of its pages",
  DOCS,
);
export const sendDocsFolder: Route = page(
  "readDocsFolder",
  "The first page of a part of the documentation",
  DOCS,
);
export const sendDocsPage: Route = page(
  "readDocsPage",
  "A page of a part of the documentation, or a file of its pages",
  DOCS,
);
export const sendDocsPart: Route = page(
  "readDocsPart",
  "A page or a picture of a smaller part of the documentation",
  DOCS,
);

/** For the address without its last slash, which would mislead the links of a page. */
function redirect(id: string, { name }: Site, location: string): Route {
  return open("open", {
    id,
    isPage: true,
    summary: `Sends a browser on to ${name.toLowerCase()}`,
    answers: { 308: null },
    run: (_edge, { requestId }) =>
      new Response(null, { status: 308, headers: { location, "x-request-id": requestId } }),
  });
}

function page(id: string, summary: string, site: Site): Route {
  return open("open", {
    id,
    isPage: true,
    summary,
    isTagged: true,
    answers: { 200: "*/*" },
    errors: ["not_found"],
    run: (edge, call) => sendFile(edge, call, site),
  });
}

async function sendFile(edge: Edge, call: Call, site: Site): Promise<Response> {
  const files = await site.files(edge.options)?.();
  if (files === undefined) return sendRefusal(call.requestId, notBuilt(site));
  const found = findFile(files, call);
  if (found === undefined) {
    const message = `${site.name} has no such file`;
    return sendRefusal(call.requestId, { kind: "not_found", message });
  }
  const [name, file] = found;
  const headers = headersOf(name, file, call.requestId);
  const { request } = call;
  if (namesTag(request.headers.get("if-none-match"), file.hash)) {
    return new Response(null, { status: 304, headers });
  }
  if (!/\bbr\b/.test(request.headers.get("accept-encoding") ?? "")) {
    return sendBytes(await plainBytes(file), headers);
  }
  headers.set("content-encoding", "br");
  return sendBytes(file.brotli, headers);
}

/** A long file goes piece by piece, and is counted, as all long answers are. */
function sendBytes(bytes: Uint8Array<ArrayBuffer>, headers: Headers): Response {
  if (bytes.length < LONG_ANSWER_BYTES_MIN) return new Response(bytes, { headers });
  const response = longAnswer([bytes], 200);
  for (const [name, value] of headers) response.headers.set(name, value);
  return response;
}

const decompress = promisify(brotliDecompress);

/** Each file is decompressed once, also for many requests at the same time. */
const plain = new WeakMap<BuiltFile, Promise<Uint8Array<ArrayBuffer>>>();

function plainBytes(file: BuiltFile): Promise<Uint8Array<ArrayBuffer>> {
  const known = plain.get(file);
  if (known !== undefined) return known;
  const made = decompress(file.brotli).then((bytes) => new Uint8Array(bytes));
  plain.set(file, made);
  // Decompressing may fail for want of memory, and is then tried again.
  made.catch(() => plain.delete(file));
  return made;
}

/** The address may leave out the ending of a page: `errors/not_found` has `.html`. */
function findFile(
  files: ReadonlyMap<string, BuiltFile>,
  { params, route }: Call,
): readonly [name: string, file: BuiltFile] | undefined {
  const asked = params.join("/");
  const isFolder = route.endsWith("/");
  const folder = asked === "" ? "" : `${asked}/`;
  for (const name of isFolder ? [`${folder}${INDEX}`] : [asked, `${asked}.html`]) {
    const file = files.get(name);
    if (file !== undefined) return [name, file];
  }
  return undefined;
}

function notBuilt({ name, task }: Site): Refusal {
  const message = `${name} is not built. Run \`${task}\` beside the server; then reload`;
  return { kind: "not_found", message };
}

function headersOf(name: string, { type, hash }: BuiltFile, requestId: string): Headers {
  const headers = new Headers({
    "content-type": type,
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": HASHED.test(name) ? "public, max-age=31536000, immutable" : "no-cache",
    "etag": `W/"${hash}"`,
    "vary": "Accept-Encoding",
    "x-request-id": requestId,
  });
  if (DOWNLOADS.has(name)) {
    headers.set("content-disposition", `attachment; filename="${name}"`);
  }
  return headers;
}

function namesTag(header: string | null, hash: string): boolean {
  return header !== null && header.includes(`"${hash}"`);
}
