/**
 * `/_console/`: the files of the console, for anybody. They hold no data: what a page shows, it
 * asks for with the key or token of its user. See docs/operate/console.md.
 */

import type { ConsoleFile } from "../../console_files.ts";
import type { Refusal } from "../../domain/refusal.ts";
import type { Call, Edge, Route } from "../call.ts";
import { open } from "../endpoint.ts";
import { sendRefusal } from "../reply.ts";

const INDEX = "index.html";
/** What is kept as a file and opened from the disk, never shown as a page of this origin. */
const DOWNLOADS: ReadonlySet<string> = new Set(["verify.html"]);
/** Names with a hash of their content: what has such a name never changes. */
const HASHED = /-[0-9A-Z]{8}\.js$/;

/** Nothing from elsewhere, nothing inline, no frame around it. */
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
  "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const NOT_BUILT: Refusal = {
  kind: "not_found",
  message: "The console is not built. Run `deno task console` beside the server; then reload",
};

/** The address without its last slash, against which a page would look for its files elsewhere. */
export const redirectConsole: Route = open("open", {
  id: "redirectConsole",
  isPage: true,
  summary: "Sends a browser on to the console",
  answers: { 308: null },
  run: (_edge, { requestId }) =>
    new Response(null, {
      status: 308,
      headers: { "location": "/_console/", "x-request-id": requestId },
    }),
});

export const sendConsole: Route = open("open", {
  id: "readConsole",
  isPage: true,
  summary: "The console, for a browser",
  isTagged: true,
  answers: { 200: "text/html" },
  errors: ["not_found"],
  run: (edge, call) => sendFile(edge, call, INDEX),
});

export const sendConsoleFile: Route = open("open", {
  id: "readConsoleFile",
  isPage: true,
  summary: "A file of the console: code, styles, a picture",
  isTagged: true,
  answers: { 200: "*/*" },
  errors: ["not_found"],
  run: (edge, call) => sendFile(edge, call, call.params[0]!),
});

async function sendFile(edge: Edge, call: Call, name: string): Promise<Response> {
  const files = await edge.options.readConsole?.();
  if (files === undefined) return sendRefusal(call.requestId, NOT_BUILT);
  const file = files.get(name);
  if (file === undefined) {
    const message = "The console has no such file";
    return sendRefusal(call.requestId, { kind: "not_found", message });
  }
  const headers = headersOf(name, file, call.requestId);
  const { request } = call;
  if (namesTag(request.headers.get("if-none-match"), file.hash)) {
    return new Response(null, { status: 304, headers });
  }
  if (!/\bbr\b/.test(request.headers.get("accept-encoding") ?? "")) {
    return new Response(file.bytes, { headers });
  }
  headers.set("content-encoding", "br");
  return new Response(file.brotli, { headers });
}

function headersOf(name: string, { type, hash }: ConsoleFile, requestId: string): Headers {
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
