/**
 * Builds the documentation: every document as a page and as Markdown, pictures, the text of the
 * search, and an index for programs. Nothing in it refers to another origin but links.
 */

import {
  bundle,
  isSiteCurrent,
  type SiteFiles,
  type SiteForm,
  writeBelow,
  writeSite,
} from "../sites/write_site.ts";
import { pageHtml } from "./layout.ts";
import { llmsText, partDocuments } from "./navigation.ts";
import { makePage, type Page, pictureAddress } from "./page.ts";
import { DOCUMENTS, readTree, sorted, type Tree } from "./pages.ts";

const ROOT = new URL("../../", import.meta.url);
const FORM: SiteForm = {
  sources: [
    ...DOCUMENTS,
    "console/src/docs",
    "console/static/icon.svg",
    "console/styles/1_tokens.css",
    "scripts/docs",
    "scripts/sites",
    "deno.json",
    "deno.lock",
  ],
  // Better ones take twice the time and more, and save a hundredth.
  brotliQuality: 5,
  keepsPlain: false,
};
/** Pages of which the search knows the headings alone: they have figures, not words. */
const UNSEARCHED: ReadonlySet<string> = new Set(["comparisons/siege-figures"]);

/** Builds into `folder` for the server. */
export async function buildDocs(folder: string): Promise<void> {
  await writeSite(folder, await docsFiles(), FORM);
}

export function areDocsCurrent(folder: string): Promise<boolean> {
  return isSiteCurrent(folder, FORM.sources);
}

/** Builds into a folder for any server of files. */
export async function publishDocs(folder: URL): Promise<void> {
  for (const [name, bytes] of await docsFiles()) await writeBelow(folder, name, bytes);
}

/** All pages, in the order of the navigation. */
export async function docsPages(): Promise<{ tree: Tree; pages: readonly Page[] }> {
  const read = await readTree();
  const tree = { ...read, documents: [...read.documents, ...partDocuments(read.documents)] };
  const written = read.documents.map((document) => makePage(document, tree));
  const listed = new Map(
    partDocuments(read.documents, written).map((document) => [document, makePage(document, tree)]),
  );
  const all = new Map([...written.map((page) => [page.document, page] as const), ...listed]);
  return { tree, pages: sorted([...all.keys()]).map((document) => all.get(document)!) };
}

export async function docsFiles(): Promise<SiteFiles> {
  const [{ tree, pages }, code] = await Promise.all([docsPages(), docsCode()]);
  const encoder = new TextEncoder();
  const files = new Map<string, Uint8Array>(code);
  for (const [at, { document: { address, text } }] of pages.entries()) {
    files.set(`${address}.html`, encoder.encode(pageHtml(pages, at)));
    files.set(`${address}.md`, encoder.encode(text));
  }
  for (const [path, bytes] of tree.pictures) files.set(pictureAddress(path), bytes);
  files.set("search.json", encoder.encode(JSON.stringify(searchText(pages))));
  files.set("llms.txt", encoder.encode(llmsText(pages)));
  files.set("icon.svg", await Deno.readFile(new URL("console/static/icon.svg", ROOT)));
  return [...files].sort(([a], [b]) => a < b ? -1 : 1);
}

async function docsCode(): Promise<SiteFiles> {
  const [docs, theme, tokens, styles] = await Promise.all([
    bundle("console/src/docs/docs.ts", ["--code-splitting"]),
    bundle("console/src/docs/theme.ts", ["--format=iife"]),
    Deno.readTextFile(new URL("console/styles/1_tokens.css", ROOT)),
    Deno.readTextFile(new URL("scripts/docs/docs.css", ROOT)),
  ]);
  return [...docs, ...theme, ["docs.css", new TextEncoder().encode(`${tokens}\n${styles}`)]];
}

/** One row for each section: its page, anchor, titles and words. */
function searchText(pages: readonly Page[]): string[][] {
  return pages.flatMap(({ document: { address }, title, sections }) =>
    sections.map((section) => [
      `${address.replace(/(^|\/)index$/, "$1")}${address.endsWith("index") ? "" : ".html"}`,
      section.anchor,
      title,
      section.title,
      UNSEARCHED.has(address) ? "" : section.text,
    ])
  );
}
