/** Which documents are pages of the site, where each is, and in which order they are listed. */

import { pathsBelow } from "../sites/write_site.ts";

const ROOT = new URL("../../", import.meta.url);

export interface Part {
  /** The folder of its pages. */
  readonly folder: string;
  readonly title: string;
  readonly about: string;
}

/** The parts of the documentation, in the order of the navigation. */
export const PARTS: readonly Part[] = [
  { folder: "start", title: "Start", about: "From nothing to a state read back" },
  { folder: "tutorials", title: "Tutorials", about: "Whole applications, step by step" },
  { folder: "guide", title: "Guides", about: "What follows the first session" },
  { folder: "how-to", title: "How-tos", about: "One task each" },
  { folder: "reference", title: "Reference", about: "Every call, rule and limit" },
  { folder: "sdk", title: "TypeScript", about: "The client, page by page" },
  { folder: "explanations", title: "Explanations", about: "How it works, and why it is so" },
  { folder: "operate", title: "Operating", about: "Running, watching, restoring" },
  { folder: "comparisons", title: "Comparisons", about: "Beside other systems, and measured" },
  { folder: "errors", title: "Errors", about: "A page for every error_type" },
  { folder: "internals", title: "Internals", about: "For contributors" },
  { folder: "decisions", title: "Decisions", about: "Why the code is as it is" },
];

/** Documents whose page is elsewhere than their path says. The address is without `.html`. */
const PLACED: Readonly<Record<string, string>> = {
  "docs/README.md": "index",
  "README.md": "start/readme",
  "CHANGELOG.md": "reference/changelog",
  "SECURITY.md": "operate/security",
  "ARCHITECTURE.md": "internals/architecture",
  "CONTRIBUTING.md": "internals/contributing",
  "tests/README.md": "internals/tests",
  "src/kv/README.md": "internals/storage-port",
  "src/runners/README.md": "internals/runners",
  "src/compute/README.md": "internals/compute",
  "src/wasm/README.md": "internals/wasm",
  "src/sql/README.md": "internals/sql",
  "scripts/peers/README.md": "internals/peers",
  "src/wasm/examples/README.md": "reference/writing-modules",
  "examples/shop/README.md": "tutorials/shop-project",
  "docs/glossary.md": "reference/glossary",
  "docs/benchmarks.md": "comparisons/benchmarks",
  "docs/siege.md": "comparisons/siege",
  "docs/siege-foundationdb.md": "comparisons/siege-foundationdb",
  "docs/siege-reading.md": "comparisons/siege-reading",
  "docs/siege-fourth-reading.md": "comparisons/siege-fourth-reading",
  "docs/siege-figures.md": "comparisons/siege-figures",
};

/** What the site is made of, beside the code that makes it. */
export const DOCUMENTS: readonly string[] = [
  "docs",
  ...Object.keys(PLACED).filter((path) => !path.startsWith("docs/")),
];

export interface Document {
  /** From the root of the repository. */
  readonly path: string;
  /** Of the page, without its ending; `reference/index` for that of a part. */
  readonly address: string;
  readonly text: string;
}

export interface Tree {
  readonly documents: readonly Document[];
  /** Pictures by their path from the root of the repository. */
  readonly pictures: ReadonlyMap<string, Uint8Array>;
}

/** Reads the documents; their order is that of the navigation. */
export async function readTree(): Promise<Tree> {
  const documents: Document[] = [];
  const pictures = new Map<string, Uint8Array>();
  for (const source of DOCUMENTS) {
    for (const path of await pathsBelow(source).catch(() => [])) {
      if (!path.endsWith(".md")) pictures.set(path, await Deno.readFile(new URL(path, ROOT)));
      else {
        const text = await Deno.readTextFile(new URL(path, ROOT));
        documents.push({ path, address: addressOf(path), text });
      }
    }
  }
  return { documents: sorted(documents), pictures };
}

/** Where the page of a document is. */
export function addressOf(path: string): string {
  const placed = PLACED[path];
  if (placed !== undefined) return placed;
  const within = path.slice("docs/".length, -".md".length);
  return within.replace(/^([^/]+)\/README$/, "$1/index").replace(/\/README$/, "");
}

/** The part that a page belongs to; undefined for the first page of all. */
export function partOf(address: string): Part | undefined {
  const [folder, rest] = address.split("/");
  return rest === undefined ? undefined : PARTS.find((part) => part.folder === folder);
}

/**
 * By part; within it, as the index of the documents names them, then by name. The first page of a
 * part comes first.
 */
export function sorted(documents: readonly Document[]): Document[] {
  const index = documents.find(({ path }) => path === "docs/README.md")?.text ?? "";
  const places = new Map<string, number>();
  for (const { 1: target, index: at } of index.matchAll(/\]\(([^)#\s]+)/g)) {
    const path = new URL(target!, "file:///docs/").pathname.slice(1);
    if (!places.has(path)) places.set(path, at);
  }
  const rank = ({ path, address }: Document) => {
    const part = partOf(address);
    const at = part === undefined ? -1 : PARTS.indexOf(part);
    const within = address.endsWith("/index") ? -1 : places.get(path) ?? Infinity;
    return [at, within] as const;
  };
  return documents.map((each) => ({ each, rank: rank(each) })).sort((a, b) => {
    if (a.rank[0] !== b.rank[0]) return a.rank[0] - b.rank[0];
    if (a.rank[1] !== b.rank[1]) return a.rank[1] - b.rank[1];
    return a.each.address < b.each.address ? -1 : 1;
  }).map(({ each }) => each);
}
